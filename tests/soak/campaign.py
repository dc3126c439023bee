"""A campaign: databases are written and Kafka Connect is killed while the product runs.

One round: each database gets its share of changes, Connect is killed at a random moment and
started again, and meanwhile the product runs over whatever has arrived. After the last round all
waits until everything is in Kafka, the product runs once more, and silver is compared with the
databases value by value.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random

from pyspark.sql import SparkSession

from infra.demo.barrier import Barrier
from infra.demo.compare import TableComparison, compare_source
from infra.home import StackHome
from infra.sources import SAMPLE_SOURCES, Engine
from infra.state import read_state
from lakehouse.config import Settings, SourceConfig, load_source
from tests.soak.faults import Killer
from tests.soak.product import Product, RunFailed
from tests.soak.tables import ACCOUNT_ROWS, ACCOUNTS, GENERATED, OPENING_BALANCE
from tests.soak.workload import Workload
from tests.soak.writing import Writer
from tests.support.narrowed import narrowed

_TOTAL = len(ACCOUNTS) * ACCOUNT_ROWS * OPENING_BALANCE


@dataclass(frozen=True, slots=True)
class Size:
    """How much a campaign does.

    Attributes:
        changes: For each database.
        rounds: Each with one kill of Kafka Connect.
        round_s: The least time of a round's writing.
        runs_between: Whether the product runs in every round, or only at the end.
    """

    changes: int
    rounds: int
    round_s: float
    runs_between: bool = True


@dataclass(slots=True)
class Side:
    """One source of the campaign."""

    writer: Writer
    barrier: Barrier
    product: Product


@dataclass(slots=True)
class Campaign:
    """Attributes: cuts, published ones whose accounts were added up."""

    spark: SparkSession
    stack: Settings
    product_home: Settings
    seed: int
    size: Size
    suffix: str = ""
    say: Callable[[str], None] = print
    cuts: int = 0
    killer: Killer = field(init=False)
    sides: dict[str, Side] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.killer = Killer(self.stack)

    def run(self, sources: Sequence[str]) -> dict[str, tuple[TableComparison, ...]]:
        """The whole campaign.

        Returns:
            How each table compares in the end, by source.
        """
        with ThreadPoolExecutor(len(sources) + 1) as pool:
            self.sides = {name: self._side(name) for name in sources}
            list(pool.map(self._open, self.sides.values()))
            self.say("tables made and filled")
            random = Random(self.seed)
            for number in range(1, self.size.rounds + 1):
                self._round(pool, random, number)
            list(pool.map(self._close, self.sides.values()))
        self.say("everything written is in Kafka")
        for side in self.sides.values():
            self._publish(side)
        return {name: self._compare(name, side) for name, side in self.sides.items()}

    def _side(self, name: str) -> Side:
        state = read_state(StackHome(self.stack.home))
        source, database = load_source(name, self.stack), state.sources[name]
        writer = Writer(source, database, Workload(database.engine, self.seed))
        barrier = Barrier(source, database, str(state.kafka), threading.Event())
        given = narrowed(source, f"{name}{self.suffix}", rf"[^.]+\.{GENERATED}.*")
        return Side(writer, barrier, Product(self.spark, self.product_home, given))

    def _open(self, side: Side) -> None:
        side.barrier.pass_one()
        side.writer.create()

    def _close(self, side: Side) -> None:
        side.writer.close()
        side.barrier.pass_one()

    def _round(self, pool: ThreadPoolExecutor, random: Random, number: int) -> None:
        share = self.size.changes // self.size.rounds
        begun = time.monotonic()
        parts = [
            pool.submit(side.writer.write, share, self.size.round_s) for side in self.sides.values()
        ]
        parts.append(
            pool.submit(self.killer.kill_after, random.uniform(0.1, 0.9) * self.size.round_s)
        )
        if self.size.runs_between:
            for side in self.sides.values():
                self._publish(side)
        for part in parts:
            part.result()
        self.say(f"round {number}: {time.monotonic() - begun:.0f} s")

    def _publish(self, side: Side) -> None:
        cut = side.product.run()
        sample = SAMPLE_SOURCES[side.writer.source.name]
        is_postgresql = sample.engine is Engine.POSTGRESQL
        schema = sample.captured_schema if is_postgresql else None
        balance = side.product.balance(cut, sample.name, schema)
        name = side.product.source.name
        if balance not in (None, _TOTAL):
            raise RunFailed(f"{name}: accounts hold {balance} in cut {cut.cut_id}, not {_TOTAL}")
        self.cuts += 1
        self.say(f"{name}: run of {side.product.seconds[-1]:.1f} s, cut {cut.cut_id}")

    def _compare(self, name: str, side: Side) -> tuple[TableComparison, ...]:
        product, workload = side.product, side.writer.workload
        source: SourceConfig = product.source
        return compare_source(
            source,
            side.writer.database,
            product.ledger.catalog,
            product.ledger.newest_cut(source.name),
            only=workload.tables.keys(),
            dropped=workload.schema_changes.dropped,
        )
