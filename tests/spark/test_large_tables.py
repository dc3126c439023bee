"""Small batches into a table of more rows than Spark interprets plans for: the same rows come out.

The look-up of keys has a plan of its own there (`lakehouse.spark.looking_up`), and a batch is
written without a scan.
"""

from __future__ import annotations

import duckdb
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.ledger import Ledger
from lakehouse.spark.metadata import head
from lakehouse.spark.session import FEW_ROWS
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
