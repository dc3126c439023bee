"""W2 and W4: a batch of changes into a table, against the limit, MERGE and other systems.

`BENCH_ROWS` (sizes of the table), `BENCH_CHANGES` (10000), `BENCH_KEYS` (keys that the largest
table has beside a number), `BENCH_ROUNDS` (3, behind two that warm up, and 38 with small tables, by
which Java has compiled what it will), `BENCH_PEERS` (none with 0). One program after the other in
each round; CPU seconds of a process and all that it started, and wall seconds. The product and
MERGE parse the messages, other systems get what they amount to.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise
from math import log10
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from tests.bench import sizes
from tests.bench.peer import peers
from tests.bench.raced import Race
from tests.bench.results import Result, measured

ROWS = sizes.numbers("ROWS", "100000,1000000,10000000", "100000")
CHANGES = sizes.number("CHANGES", 10_000, 10_000)
KEYS = [key for key in sizes.text("KEYS", "uuid,composite", "").split(",") if key]
ROUNDS = sizes.number("ROUNDS", 3, 1)
PEERS = bool(sizes.number("PEERS", 1, 1))
_WARM = 1 if sizes.SMALL else 2
# Before all, so that what is compiled late is compiled: tables of so many rows, so many rounds.
_FIRST_ROWS = sizes.numbers("FIRST_ROWS", "50000,60000", "")
_FIRST_ROUNDS = sizes.number("FIRST_ROUNDS", 19)
_MOST_SLOPE = "at most 0.35"


@pytest.fixture(scope="session")
def _compiled(
    spark: SparkSession, settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Java has compiled what a batch needs."""
    for rows in _FIRST_ROWS:
        folder = tmp_path_factory.mktemp(f"first_{rows}")
        Race(spark, settings, folder, rows).run(CHANGES, _FIRST_ROUNDS)


@pytest.mark.timeout(4 * 3600)
@pytest.mark.usefixtures("_compiled")
def test_a_batch_costs_what_it_changes(
    spark: SparkSession, settings: Settings, tmp_path: Path, result: Callable[[Result], None]
) -> None:
    medians = {}
    for rows in ROWS:
        folder = tmp_path / str(rows)
        with peers(folder / "peers", rows) if PEERS else nullcontext({}) as others:
            race = Race(spark, settings, folder, rows, others=others)
            race.run(CHANGES, _WARM + ROUNDS)
        for each in race.results(CHANGES, _WARM):
            result(each)
            if (each.name, each.unit) == ("apply", "CPU s"):
                medians[rows] = each.value
    for smaller, larger in pairwise(ROWS):
        slope = log10(medians[larger] / medians[smaller]) / log10(larger / smaller)
        place = ("W4", f"apply of {CHANGES:,} changes, {smaller:,} to {larger:,} rows")
        result(measured(place, "elasticity", [slope], "", _MOST_SLOPE))


@pytest.mark.timeout(4 * 3600)
@pytest.mark.usefixtures("_compiled")
@pytest.mark.parametrize("key", KEYS)
def test_a_batch_costs_what_it_changes_whatever_the_key(
    spark: SparkSession,
    settings: Settings,
    tmp_path: Path,
    result: Callable[[Result], None],
    key: str,
) -> None:
    race = Race(spark, settings, tmp_path, ROWS[-1], key)
    race.run(CHANGES, _WARM + ROUNDS)
    for each in race.results(CHANGES, _WARM):
        result(each)
