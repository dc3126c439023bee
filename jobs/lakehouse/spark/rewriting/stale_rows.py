"""The live rows of a silver table before and behind a place in its topic partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import Place
from lakehouse.plan.schemas.types import Column
from lakehouse.spark.decoding.values import decode_default
from lakehouse.spark.sql import any_of, literal
from lakehouse.spark.staging.silver import is_live
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
    # The first such row ends the search; one that stays marked as deleted is never read again.
    rows = snapshot_name(silver, snapshot)
    query = f"SELECT 1 FROM {rows} WHERE {_placed(cdc, '<', since)} LIMIT 1"
    return bool(spark.sql(query).take(1))


def shown_values(
    spark: SparkSession,
    silver: str,
    snapshot: int,
    cdc: str,
    since: Sequence[Place],
    values: Mapping[str, Column | None],
) -> set[str]:
    """The columns that have a value in a live row at or behind the places.

    Args:
        spark: The session.
        silver: Namespace and name of the table.
        snapshot: Of the table.
        cdc: What its struct `_cdc` is called.
        since: A place of each topic partition.
        values: Column → the one whose default is the value; None for NULL.
    """
    if not values:
        return set()
    rows = snapshot_name(silver, snapshot)
    tests = (
        f"{quote_ident(name)} " + (f"<=> {decode_default(value)}" if value else "IS NULL")
        for name, value in values.items()
    )
    found = ", ".join(f"coalesce(bool_or({test}), false)" for test in tests)
    row = spark.sql(f"SELECT {found} FROM {rows} WHERE {_placed(cdc, '>=', since)}").collect()[0]
    return {name for name, is_shown in zip(values, row, strict=True) if is_shown}


def _placed(cdc: str, comparison: str, since: Sequence[Place]) -> str:
    mine = quote_ident(cdc)
    places = any_of(
        f"{mine}.topic = {literal(topic)} AND {mine}.partition = {number} "
        f"AND {mine}.offset {comparison} {at}"
        for topic, number, at in since
    )
    return f"{is_live(mine)} AND ({places})"
