"""What a scan of silver costs after many batches, and what upkeep makes of it at what cost.

`BENCH_ROWS` (1000000), `BENCH_CHANGES` (10000), `BENCH_BATCHES` (50), `BENCH_ROUNDS` (5, behind two
that warm up). The fresh table has the same rows and properties, written at once; both are scanned
in turns, whole and by one column, before upkeep and behind it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.ledger import Ledger
from lakehouse.spark.session import tune
from lakehouse.spark.silver import PROPERTIES
from lakehouse.spark.tables import full_name
from tests.bench.accounts import Batch, checksum, expected
from tests.bench.cpu import Cost, median, took, total
from tests.bench.product import Product

ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
CHANGES = int(os.environ.get("BENCH_CHANGES", "10000"))
BATCHES = int(os.environ.get("BENCH_BATCHES", "50"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
_WARM = 2
_SCANS: dict[str, Callable[[str], str]] = {
    "all columns": checksum,
    "one column": lambda table: f"SELECT sum(abalance) FROM {table}",
}


@pytest.mark.timeout(4 * 3600)
def test_a_scan_after_many_batches(
    spark: SparkSession, settings: Settings, figure: Callable[[str], None]
) -> None:
    product = Product(spark, settings, "read")
    product.load(ROWS)
    batches = [Batch(number, CHANGES, ROWS) for number in range(1, BATCHES + 1)]
    work = total(cost for batch in batches for cost in product.change(batch).values())
    old, fresh = full_name(product.silver()), full_name("silver_read.fresh")
    told = duckdb.sql(expected(batches, ROWS)).fetchall()[0]
    assert tuple(spark.sql(checksum(old)).collect()[0]) == told
    _copy(spark, old, fresh)
    before = _ratios(spark, old, fresh)
    files = _files(settings, product)
    upkeep = product.maintain()
    assert tuple(spark.sql(checksum(old)).collect()[0]) == told
    figure(
        f"{BATCHES} batches of {CHANGES} changes into {ROWS} rows ({work.cpu:.0f} CPU s, "
        f"{files} files): a scan costs {before} of a fresh table's; behind upkeep "
        f"({upkeep.cpu:.1f} CPU s, {upkeep.cpu / work.cpu:.1%} of the batches', "
        f"{_files(settings, product)} files) {_ratios(spark, old, fresh)}"
    )


def _copy(spark: SparkSession, table: str, to: str) -> None:
    properties = ", ".join(f"'{name}' = '{text}'" for name, text in PROPERTIES.items())
    spark.sql(
        f"CREATE TABLE {to} USING iceberg TBLPROPERTIES ({properties}) AS SELECT * FROM {table}"
    )


def _ratios(spark: SparkSession, old: str, fresh: str) -> str:
    """CPU and wall of a scan as multiples of the fresh table's."""
    tune(spark, ROWS)
    shown = []
    for name, query in _SCANS.items():
        costs: dict[str, list[Cost]] = {old: [], fresh: []}
        for _ in range(_WARM + ROUNDS):
            for table, found in costs.items():
                found.append(took(partial(spark.sql(query(table)).collect))[0])
        a, b = (median(found[_WARM:]) for found in costs.values())
        shown.append(
            f"{a.cpu / b.cpu:.2f}x CPU, {a.wall / b.wall:.2f}x wall ({name}, {b.wall:.2f} s)"
        )
    return "; ".join(shown)


def _files(settings: Settings, product: Product) -> int:
    table = Ledger(settings).catalog.load_table(product.silver())
    return len({task.file.file_path for task in table.scan().plan_files()})
