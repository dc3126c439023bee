"""W6: a small batch behind few and behind many files of bronze.

`BENCH_FILES` (`100,10000`), `BENCH_CHANGES` (1000), `BENCH_ROUNDS` (5, behind two that warm up).
The sources take turns, so that both are as warm; each result is compared with DuckDB's.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.ledger import Ledger
from lakehouse.spark.tables import full_name
from tests.bench.accounts import Batch, checksum, expected
from tests.bench.cpu import Cost, median, total
from tests.bench.messages import first_load
from tests.bench.product import Product

FILES = [int(text) for text in os.environ.get("BENCH_FILES", "100,10000").split(",")]
CHANGES = int(os.environ.get("BENCH_CHANGES", "1000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
_WARM = 2
# A message for each file at least.
_ROWS = max(FILES)


@pytest.mark.timeout(4 * 3600)
def test_a_batch_reads_its_own_files(
    spark: SparkSession, settings: Settings, figure: Callable[[str], None]
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
    medians = {files: _medians(rounds[_WARM:]) for files, rounds in found.items()}
    few = medians[FILES[0]]
    for files, steps in medians.items():
        shown = "; ".join(
            f"{step} {cost.cpu:.2f} ({cost.cpu / few[step].cpu:.2f}x), {cost.wall:.2f}"
            for step, cost in steps.items()
        )
        figure(f"{CHANGES} changes behind {files} files of bronze, CPU s, wall s: {shown}")


def _aged(spark: SparkSession, settings: Settings, files: int) -> Product:
    """A source whose bronze has so many files."""
    product = Product(spark, settings, f"aged_{files}")
    product.run(first_load(spark, _ROWS), _ROWS, (0,), files)
    table = Ledger(settings).catalog.load_table(f"bronze.{product.name}")
    assert len(list(table.scan().plan_files())) == files
    return product


def _medians(rounds: list[dict[str, Cost]]) -> dict[str, Cost]:
    """Of each step, and of the whole run."""
    whole = [{**each, "run": total(each.values())} for each in rounds]
    return {step: median(each[step] for each in whole) for step in whole[0]}
