"""W6: a small batch behind few and behind many files of bronze.

`BENCH_FILES` (`100,10000`), `BENCH_CHANGES` (1000), `BENCH_ROUNDS` (5, behind two that warm up).
The sources take turns, so that both are as warm; each result is compared with DuckDB's.
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.tables import full_name
from tests.bench import sizes
from tests.bench.accounts import Batch, checksum, expected
from tests.bench.cpu import Cost, total
from tests.bench.messages import first_load
from tests.bench.product import Product
from tests.bench.results import Result, cpu_ratios, measured

FILES = sizes.numbers("FILES", "100,10000", "30,300")
CHANGES = sizes.number("CHANGES", 1_000, 1_000)
ROUNDS = sizes.number("ROUNDS", 5, 1)
_WARM = 1 if sizes.SMALL else 2
# A message for each file at least.
_ROWS = max(FILES)


@pytest.mark.timeout(4 * 3600)
def test_a_batch_reads_its_own_files(
    spark: SparkSession, settings: Settings, result: Callable[[Result], None]
) -> None:
    products = {files: _aged(spark, settings, files) for files in FILES}
    batches = [Batch(number, CHANGES, _ROWS) for number in range(1, _WARM + ROUNDS + 1)]
    found: dict[int, list[dict[str, Cost]]] = {files: [] for files in FILES}
    for batch in batches:
        for files, product in products.items():
            found[files].append(product.change(batch))
    told = duckdb.sql(expected(batches, _ROWS)).fetchall()[0]
    for product in products.values():
        table = full_name(product.silver())
        assert tuple(spark.sql(checksum(table)).collect()[0]) == told, table
    whole = {
        files: [total(each.values()) for each in some[_WARM:]] for files, some in found.items()
    }
    for files, costs in whole.items():
        place = ("W6", f"{CHANGES:,} changes behind {files:,} files of bronze")
        result(measured(place, "run", (cost.cpu for cost in costs), "CPU s"))
        result(measured(place, "run", (cost.wall for cost in costs), "s"))
        beside = f"run beside {FILES[0]} files"
        ratios = cpu_ratios(costs, whole[FILES[0]])
        result(measured(place, beside, ratios, "times the CPU", "at most 1.5"))


def _aged(spark: SparkSession, settings: Settings, files: int) -> Product:
    """A source whose bronze has so many files."""
    product = Product(spark, settings, f"aged_{files}")
    product.run(first_load(spark, _ROWS), _ROWS, (0,), files)
    table = Ledger(settings).catalog.load_table(f"bronze.{product.name}")
    assert len(list(table.scan().plan_files())) == files
    return product
