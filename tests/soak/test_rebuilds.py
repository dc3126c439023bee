"""A table with 200 batches of history, in three ways of batching, and what a rebuild makes of it.

`LAKEHOUSE_SOAK_REBUILD` says how many batches the longest way has (200); `LAKEHOUSE_SOAK_PACKS` how
many packs of generated histories of each connector are made again (5), `LAKEHOUSE_SOAK_SEED` where
they begin.
"""

from __future__ import annotations

import os
import platform
import random
import time
from datetime import UTC, datetime

import pytest

from lakehouse.config import parse_source
from tests.property.dialects import DIALECTS
from tests.property.packs import SOAK_CUTS, draw, run
from tests.property.product import open_product
from tests.support.rebuilds import TOML, contents, rebuild, run_in_batches, spoil, tell
from tests.support.runs import Runs

PACKS = int(os.environ.get("LAKEHOUSE_SOAK_PACKS", "5"))
SEED = int(os.environ.get("LAKEHOUSE_SOAK_SEED", "1000"))
BATCHES = int(os.environ.get("LAKEHOUSE_SOAK_REBUILD", "200"))


def ways(ends: list[int], messages: int) -> dict[str, list[int]]:
    """Ends of batches: after each transaction, after some, and anywhere inside of them."""
    chance = random.Random(11)
    inside = sorted(chance.sample(range(1, messages), BATCHES - 1))
    some = sorted(chance.sample(ends[:-1], BATCHES // 4))
    return {"each": ends, "some": [*some, ends[-1]], "anywhere": [*inside, messages]}


@pytest.mark.timeout(0)
def test_a_rebuild_equals_the_running_tables_after_many_batches(spark, settings, tmp_path):
    found = {}
    for way in ("each", "some", "anywhere"):
        name, started = f"rebuilt_{way}", time.monotonic()
        runs = Runs(spark, settings, tmp_path, parse_source(TOML.format(name=name), name))
        pg, ends = tell(name, BATCHES)
        cuts = ways(ends, pg.mark())[way]
        run_in_batches(runs, pg, cuts)
        running, ran = contents(runs), time.monotonic()
        equal = rebuild(runs)["apply"].message
        rebuilt = time.monotonic()
        assert "0 differ" in equal, equal
        spoil(runs)
        assert contents(runs) != running
        rebuild(runs)
        assert contents(runs) == running
        found[way] = running
        print(
            f"\n{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.node()}, {os.cpu_count()} cores: "
            f"{way}, {len(cuts)} batches of {pg.mark()} messages, {ran - started:.0f} s; rebuild "
            f"{rebuilt - ran:.0f} s: {equal}"
        )
    assert found["each"] == found["some"] == found["anywhere"]


@pytest.mark.timeout(0)
@pytest.mark.parametrize("connector", DIALECTS)
def test_a_rebuild_equals_what_histories_of_every_kind_have_left(
    spark, settings, tmp_path, connector: str
):
    broken = {}
    for seed in range(SEED, SEED + PACKS):
        drawn = draw(connector, seed, cuts=SOAK_CUTS)
        product = open_product(
            spark, settings, tmp_path, DIALECTS[connector], f"rebuilt_{connector}_{seed}"
        )
        run(drawn.pack, drawn.plan, product)
        runs = Runs(spark, settings, tmp_path, product.source)
        message = rebuild(runs, steps=("apply",))["apply"].message
        if "0 differ" not in message:
            broken[f"draw({connector!r}, {seed}, cuts=SOAK_CUTS)"] = message
    print(f"\n{connector}, seeds {SEED} to {SEED + PACKS - 1}: {len(broken)} rebuilds differ")
    assert broken == {}
