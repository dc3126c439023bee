"""What a scan of silver costs after many batches, and what upkeep makes of it at what cost.

`BENCH_ROWS` (1000000), `BENCH_CHANGES` (10000), `BENCH_BATCHES` (50), `BENCH_ROUNDS` (5, behind two
that warm up). The fresh table has the same rows and properties, written at once; both are scanned
in turns, whole and by one column, before upkeep and behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.session import tune
from lakehouse.spark.staging.silver import PROPERTIES
from lakehouse.spark.tables import full_name
from tests.bench import sizes
from tests.bench.accounts import Batch, checksum, expected
from tests.bench.cpu import Cost, median, took, total
from tests.bench.product import Product
from tests.bench.results import Result, measured

ROWS = sizes.number("ROWS", 1_000_000, 50_000)
CHANGES = sizes.number("CHANGES", 10_000, 1_000)
BATCHES = sizes.number("BATCHES", 50, 3)
ROUNDS = sizes.number("ROUNDS", 5, 1)
_WARM = 1 if sizes.SMALL else 2
_MOST = "at most 1.3"
_SCANS: dict[str, Callable[[str], str]] = {
    "all columns": checksum,
    "one column": lambda table: f"SELECT sum(abalance) FROM {table}",
}


@pytest.mark.timeout(4 * 3600)
def test_a_scan_after_many_batches(
    spark: SparkSession, settings: Settings, result: Callable[[Result], None]
) -> None:
    product = Product(spark, settings, "read")
    product.load(ROWS)
    batches = [Batch(number, CHANGES, ROWS) for number in range(1, BATCHES + 1)]
    work = total(cost for batch in batches for cost in product.change(batch).values())
    old, fresh = full_name(product.silver()), full_name("silver_read.fresh")
    told = duckdb.sql(expected(batches, ROWS)).fetchall()[0]
    assert tuple(spark.sql(checksum(old)).collect()[0]) == told
    _copy(spark, old, fresh)
    place = ("reading", f"{BATCHES} batches of {CHANGES:,} changes into {ROWS:,} rows")
    for each in _scans(spark, old, fresh, place, ""):
        result(each)
    upkeep = product.maintain()
    assert tuple(spark.sql(checksum(old)).collect()[0]) == told
    share = [upkeep.cpu / work.cpu]
    result(measured(place, "upkeep beside the batches", share, "times the CPU"))
    for each in _scans(spark, old, fresh, place, " behind upkeep"):
        result(each)


def _copy(spark: SparkSession, table: str, to: str) -> None:
    properties = ", ".join(f"'{name}' = '{text}'" for name, text in PROPERTIES.items())
    spark.sql(
        f"CREATE TABLE {to} USING iceberg TBLPROPERTIES ({properties}) AS SELECT * FROM {table}"
    )


def _scans(
    spark: SparkSession, old: str, fresh: str, place: tuple[str, str], when: str
) -> Iterator[Result]:
    """What scans cost beside those of a fresh table."""
    tune(spark, ROWS)
    for columns, query in _SCANS.items():
        costs: dict[str, list[Cost]] = {old: [], fresh: []}
        for _ in range(_WARM + ROUNDS):
            for table, found in costs.items():
                found.append(took(partial(spark.sql(query(table)).collect))[0])
        name = f"scan of {columns}{when} beside a fresh table"
        # One scan is short: its parts vary more than a median of all.
        a, b = (median(found[_WARM:]) for found in costs.values())
        yield measured(place, name, [a.cpu / b.cpu], "times the CPU", _MOST)
        yield measured(place, name, [a.wall / b.wall], "times the wall time", _MOST)
