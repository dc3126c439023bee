"""Small batches into a table of more rows than Spark interprets plans for: the same rows come out.

The look-up of keys has a plan of its own there (`lakehouse.spark.staging.looking_up`), and a batch
is written without a scan.
"""

from __future__ import annotations

from dataclasses import replace

import duckdb
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.batch import TableRules, plan_table
from lakehouse.plan.batches.table_versions import TableFacts
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.progress import Progress
from lakehouse.plan.tuning import FEW_ROWS
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.metadata import head
from lakehouse.spark.staging.stored import stored_state
from lakehouse.spark.tables import full_name
from tests.bench.accounts import Batch, checksum, expected
from tests.bench.product import Product

ROWS, CHANGES = FEW_ROWS + 1, 600


def test_batches_into_a_large_table_end_as_duckdb_says(
    spark: SparkSession, settings: Settings
) -> None:
    product = Product(spark, settings, "large")
    product.load(ROWS)
    batches = [Batch(number, CHANGES, ROWS) for number in (1, 2, 3)]
    for batch in batches:
        product.change(batch)
    told = duckdb.sql(expected(batches, ROWS)).fetchall()[0]
    table = full_name(product.silver())
    assert tuple(spark.sql(checksum(table)).collect()[0]) == told
    newest = head(Ledger(settings).catalog, product.silver())
    assert newest is not None
    # One commit for what goes and what comes.
    assert {"added-dvs", "added-data-files"} <= newest.summary.keys()

    # Events that are not behind all that is applied are judged by what is stored.
    product.change(batches[0])
    assert tuple(spark.sql(checksum(table)).collect()[0]) == told
    again = head(Ledger(settings).catalog, product.silver())
    assert again is not None
    assert again.snapshot_id == newest.snapshot_id


def test_a_batch_behind_all_that_is_applied_reads_keys_alone(
    spark: SparkSession, settings: Settings
) -> None:
    product = Product(spark, settings, "behind")
    product.load(10)
    columns = {"aid": "bigint"}
    facts = TableFacts(product.silver(), columns, Progress(), {}, ("aid",))
    accounts = TableIdentity(None, "public", "accounts_0")
    plan = plan_table(accounts, (), {}, facts, TableRules())

    def read(plan: TablePlan) -> tuple[str, set[str | None]]:
        """The columns of the look-up's scan, and the positions that it tells."""
        found = stored_state(spark, plan, None, with_image=False, has_state=False)
        query = found._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - no other way
        scanned = query.collectLeaves().head().output().mkString(",")
        return scanned, {row["stored_position"] for row in found.collect()}

    scanned, positions = read(plan)
    assert "_cdc" in scanned
    assert None not in positions
    scanned, positions = read(replace(plan, behind="9"))
    assert "_cdc" not in scanned
    assert positions == {"9"}
