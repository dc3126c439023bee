"""Whether a silver table has live rows that are older than a place in its topic partitions."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from lakehouse.names import quote_ident
from lakehouse.plan.tables import Place
from lakehouse.spark.silver import is_live
from lakehouse.spark.sql import any_of, literal
from lakehouse.spark.tables import snapshot_name


def has_older_rows(
    spark: SparkSession, silver: str, snapshot: int, cdc: str, since: Sequence[Place]
) -> bool:
    """Whether a live row's newest event stands before the place of its topic partition.

    Args:
        spark: The session.
        silver: Namespace and name of the table.
        snapshot: Of the table.
        cdc: What its struct `_cdc` is called.
        since: A place of each topic partition.
    """
    mine = quote_ident(cdc)
    older = any_of(
        f"{mine}.topic = {literal(topic)} AND {mine}.partition = {number} AND {mine}.offset < {at}"
        for topic, number, at in since
    )
    # The first such row ends the search; one that stays marked as deleted is never read again.
    rows = snapshot_name(silver, snapshot)
    query = f"SELECT 1 FROM {rows} WHERE {is_live(mine)} AND ({older}) LIMIT 1"
    return bool(spark.sql(query).take(1))
