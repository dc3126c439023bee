"""Many lives judged by one run of the product: they share a database, a log and a connector.

A run costs seconds whatever it does, and more with each table, so that the lives of a pack are
rows of the same tables and are cut, landed and applied as a whole. Each life is then judged alone,
by the same laws as the reference, and the whole database too: all of it must stand at one moment of
the source.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.property.conservation import Conservation
from tests.property.cuts import OUTCOMES, Cuts, Plan
from tests.property.database import MAX_LIVES, OPERATIONS
from tests.property.dialects import DIALECTS
from tests.property.histories import History, Pack, Step, Tables, build_pack, by_life
from tests.property.laws import hold
from tests.property.product import Product
from tests.property.recorder import MODIFIERS
from tests.property.reference import Reference
from tests.support.archives import Message

# Of one run of `make test`: packs for each connector, lives in each.
PACKS, LIVES = 1, 15
_STEPS = (2, 5)
# How often a pack is cut; a soak has time for more.
CUTS, SOAK_CUTS = (1, 1), (1, 3)


@dataclass(frozen=True)
class Drawn:
    """A pack as the numbers that it is built from, which make it again."""

    connector: str
    lives: tuple[tuple[Step, ...], ...]
    settings: int
    plan: Plan

    @property
    def pack(self) -> Pack:
        return build_pack(DIALECTS[self.connector], self.lives, self.settings)


def draw(connector: str, seed: int, lives: int = LIVES, cuts: tuple[int, int] = CUTS) -> Drawn:
    """A pack by chance; the same seed gives the same one."""
    assert lives <= MAX_LIVES, f"{lives} lives: a database has keys for at most {MAX_LIVES}"
    chance = random.Random(f"{connector} {seed}")
    steps = tuple(
        tuple(_step(chance) for _ in range(chance.randint(*_STEPS))) for _ in range(lives)
    )
    # Rows that nobody reads before the end say little: only one pack in eight has them.
    unread = 3 * (chance.random() < 1 / 8)
    moment, others = chance.randrange(2), chance.randrange(12)
    drawn = tuple(
        (chance.randrange(len(OUTCOMES)), chance.randrange(4**12))
        for _ in range(chance.randint(*cuts))
    )
    # Without transaction metadata; not in all of them, since it is on where people can have it.
    plain = 16 * (chance.random() < 1 / 3)
    plan = Plan(chance.random() < 1 / 2, drawn, fair=True)
    return Drawn(connector, steps, others + 12 * (moment + 4 * unread + plain), plan)


def _step(chance: random.Random) -> Step:
    operations = [chance.randrange(OPERATIONS) for _ in range(chance.randint(1, 4))]
    return chance.randrange(MODIFIERS), operations


class Recorded:
    """An applier that says again what another one said."""

    def __init__(self, states: Iterable[Tables]) -> None:
        self.states = iter(states)

    def apply(self, _: Iterable[Message]) -> Tables:
        return next(self.states)


def run(pack: Pack, plan: Plan, product: Product) -> list[Tables]:
    """What the product had after each of its runs; conservation is checked after each."""
    conservation = Conservation(product, Reference(pack.whole.connector))
    states = []
    for batch in plan.batches(pack.whole.messages):
        conservation.land(batch.messages)
        if batch.outcome == "lost":
            product.lose(batch.messages)
            continue
        for _ in range(2 if batch.outcome == "twice" else 1):
            states.append(product.apply(batch.messages))
            if batch.messages:
                conservation.check(product.spark)
    return states


def judge(pack: Pack, plan: Plan, states: Sequence[Tables]) -> dict[str, str]:
    """Which lives break a law, and how."""
    broken: dict[str, str] = {}
    cuts = Cuts.of(plan, pack.whole.messages)
    split = [by_life(state, len(pack.lives)) for state in states]
    for life, history in enumerate(pack.lives):
        broken |= _broken(f"life {life}", history, cuts, [lives[life] for lives in split])
    return broken | _broken("the whole database", pack.whole, cuts, states)


def _broken(name: str, history: History, cuts: Cuts, states: Sequence[Tables]) -> dict[str, str]:
    try:
        hold(history, cuts, Recorded(states))
    except AssertionError as failure:
        return {name: str(failure)}
    return {}
