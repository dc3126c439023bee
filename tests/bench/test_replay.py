"""W5: all events of a source in one batch, however many files bronze has them in.

`BENCH_FILES` (`10,1000`), `BENCH_EVENTS` (1000000, half of them a first load), `BENCH_ROUNDS` (3,
behind one that warms up). Each round is a source of its own, and the files take turns; the limit is
one pass of DuckDB over the same files, and apply parses them as that does.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.tables import full_name
from tests.bench import sizes
from tests.bench.accounts import Batch, checksum, expected
from tests.bench.cpu import Cost
from tests.bench.limits import data_files, limit
from tests.bench.messages import history
from tests.bench.product import Product
from tests.bench.results import Result, cpu_ratios, measured

FILES = sizes.numbers("FILES", "10,1000", "10,100")
EVENTS = sizes.number("EVENTS", 1_000_000, 20_000)
ROUNDS = sizes.number("ROUNDS", 3, 1)
_WARM = 0 if sizes.SMALL else 1
_ROWS, _BATCHES = EVENTS // 2, 10
BATCHES = [Batch(number, EVENTS // 2 // _BATCHES, _ROWS) for number in range(1, _BATCHES + 1)]


@pytest.mark.timeout(4 * 3600)
def test_a_replay_costs_one_pass(
    spark: SparkSession, settings: Settings, tmp_path: Path, result: Callable[[Result], None]
) -> None:
    told = duckdb.sql(expected(BATCHES, _ROWS)).fetchall()[0]
    found: dict[int, list[tuple[Cost, Cost]]] = {files: [] for files in FILES}
    for number in range(_WARM + ROUNDS):
        for files in FILES:
            product = Product(spark, settings, f"replay_{files}_{number}", parses_again=True)
            apply = product.run(history(spark, BATCHES), EVENTS, (0,), files)["apply"]
            table = full_name(product.silver())
            assert tuple(spark.sql(checksum(table)).collect()[0]) == told, table
            bronze = data_files(settings, f"bronze.{product.name}")
            assert len(bronze) == files
            found[files].append((apply, limit(tmp_path / product.name, bronze, [])))
    for files, rounds in found.items():
        place = ("W5", f"{EVENTS:,} events from {files:,} files of bronze")
        applied, limits = zip(*rounds[_WARM:], strict=True)
        result(measured(place, "apply", (cost.cpu for cost in applied), "CPU s"))
        result(measured(place, "apply", (cost.wall for cost in applied), "s"))
        result(measured(place, "limit", (cost.cpu for cost in limits), "CPU s"))
        beside = cpu_ratios(applied, limits)
        result(measured(place, "apply beside the limit", beside, "times the CPU", "at most 6"))
