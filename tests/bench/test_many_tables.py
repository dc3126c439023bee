"""W3: a run over a source of many tables, of which some have changes.

`BENCH_SHAPES` (tables/changed ones, `200/200,1000/20`), `BENCH_CHANGES` (1000 of each),
`BENCH_ROWS` (5000 of each at first), `BENCH_ROUNDS` (3, behind one that warms up). Wall seconds;
the catalog's commits are counted in each table's own metadata.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Callable

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.tables import ENDINGS
from lakehouse.spark.ledger import Ledger
from lakehouse.spark.tables import full_name
from tests.bench.accounts import Batch, checksum, expected
from tests.bench.product import Product

SHAPES = [
    tuple(map(int, text.split("/")))
    for text in os.environ.get("BENCH_SHAPES", "200/200,1000/20").split(",")
]
CHANGES = int(os.environ.get("BENCH_CHANGES", "1000"))
ROWS = int(os.environ.get("BENCH_ROWS", "5000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))


@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize(("tables", "changed"), SHAPES)
def test_a_table_without_changes_costs_next_to_nothing(
    spark: SparkSession,
    settings: Settings,
    figure: Callable[[str], None],
    tables: int,
    changed: int,
) -> None:
    product = Product(spark, settings, f"many_{tables}_{changed}", tables)
    product.load(ROWS)
    some = range(changed)
    batches = [Batch(number, CHANGES, ROWS) for number in range(1, ROUNDS + 2)]
    product.change(batches[0], some)
    ledger, walls = Ledger(settings), list[dict[str, float]]()
    before = _versions(ledger, product)
    for batch in batches[1:]:
        walls.append({name: cost.wall for name, cost in product.change(batch, some).items()})
    commits = _versions(ledger, product)
    commits.subtract(before)
    told = duckdb.sql(expected(batches, ROWS)).fetchall()[0]
    for number in (0, changed - 1):
        table = full_name(product.silver(number))
        assert tuple(spark.sql(checksum(table)).collect()[0]) == told, table
    idle = [product.silver(number) + e for number in range(changed, tables) for e in ENDINGS]
    assert [name for name in idle if commits[name]] == []
    run = statistics.median(sum(each.values()) for each in walls)
    steps = statistics.median(each["apply"] + each["publish"] for each in walls)
    silver = max(commits[product.silver(number)] for number in some) / ROUNDS
    state = max(commits[product.silver(number) + ENDINGS[1]] for number in some) / ROUNDS
    figure(
        f"{changed} of {tables} tables x {CHANGES} changes: run {run:.1f} s, apply and publish "
        f"{steps / changed:.2f} s a changed table, run {run / changed:.2f}; commits a table "
        f"{silver:.0f}, its state table {state:.0f}"
    )


def _versions(ledger: Ledger, product: Product) -> Counter[str]:
    """How many versions of its metadata each table has had: one for each commit."""
    found: Counter[str] = Counter()
    for number in range(product.tables):
        for ending in ENDINGS[:2]:
            name = product.silver(number) + ending
            # `00042-<uuid>.metadata.json`: https://iceberg.apache.org/spec/#table-metadata
            file = ledger.catalog.load_table(name).metadata_location.rpartition("/")[2]
            found[name] = int(file.partition("-")[0])
    return found
