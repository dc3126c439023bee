"""W3: a run over a source of many tables, of which some have changes.

`BENCH_SHAPES` (tables/changed ones), `BENCH_CHANGES` (of each), `BENCH_ROWS` (of each at first),
`BENCH_ROUNDS` (behind `BENCH_WARM` that warm up). Wall seconds; the catalog's commits are counted
in each table's own metadata. What an idle table takes is what a source with some takes more than
one with none.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.batches.tables import ENDINGS, STATE_ENDING
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.tables import full_name
from tests.bench import sizes
from tests.bench.accounts import Batch, checksum, expected
from tests.bench.product import Product
from tests.bench.results import Result, measured

SHAPES = [
    tuple(map(int, text.split("/")))
    for text in sizes.text("SHAPES", "20/20,200/200,1000/20", "2/2,8/2").split(",")
]
CHANGES = sizes.number("CHANGES", 1_000, 1_000)
ROWS = sizes.number("ROWS", 5_000, 5_000)
ROUNDS = sizes.number("ROUNDS", 3, 1)
_WARM = sizes.number("WARM", 3, 1)


@pytest.mark.timeout(4 * 3600)
def test_a_table_without_changes_costs_next_to_nothing(
    spark: SparkSession, settings: Settings, result: Callable[[Result], None]
) -> None:
    busy: dict[int, float] = {}
    for tables, changed in SHAPES:
        product, walls, commits = _rounds(spark, settings, tables, changed)
        place = ("W3", f"{changed:,} of {tables:,} tables x {CHANGES:,} changes")
        runs = [sum(each.values()) for each in walls]
        steps = ((each["apply"] + each["publish"]) / changed for each in walls)
        each = "s a changed table"
        result(measured(place, "apply and publish", steps, each, "at most 0.5"))
        result(measured(place, "run", (run / changed for run in runs), each, "at most 1"))
        for name, most in (("", 4), (STATE_ENDING, 2)):
            found = (commits[product.silver(n) + name] / ROUNDS for n in range(changed))
            kind = "commits of its state" if name else "commits of a changed table"
            result(measured(place, kind, [max(found)], "a run", f"at most {most}"))
        if tables == changed:
            busy[changed] = statistics.median(runs)
        elif changed in busy:
            idle = [1000 * (run - busy[changed]) / (tables - changed) for run in runs]
            result(measured(place, "an idle table", idle, "ms", "at most 10"))


def _rounds(
    spark: SparkSession, settings: Settings, tables: int, changed: int
) -> tuple[Product, list[dict[str, float]], Counter[str]]:
    """What each step of each round took, and each table's commits; silver is compared."""
    product = Product(spark, settings, f"many_{tables}_{changed}", tables)
    product.load(ROWS)
    some = range(changed)
    batches = [Batch(number, CHANGES, ROWS) for number in range(1, _WARM + ROUNDS + 1)]
    for batch in batches[:_WARM]:
        product.change(batch, some)
    ledger, walls = Ledger(settings), list[dict[str, float]]()
    before = _versions(ledger, product)
    for batch in batches[_WARM:]:
        walls.append({name: cost.wall for name, cost in product.change(batch, some).items()})
    commits = _versions(ledger, product)
    commits.subtract(before)
    told = duckdb.sql(expected(batches, ROWS)).fetchall()[0]
    for number in (0, changed - 1):
        table = full_name(product.silver(number))
        assert tuple(spark.sql(checksum(table)).collect()[0]) == told, table
    idle = [product.silver(number) + e for number in range(changed, tables) for e in ENDINGS]
    assert [name for name in idle if commits[name]] == []
    return product, walls, commits


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
