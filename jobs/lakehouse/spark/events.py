"""Change events of one table, typed: key, position and row image.

In: the batch's envelopes and the table's plan. Out: one row per change event with `row_key` (text
that names the key), `position`, `op`, the typed `image` in silver's columns, the columns whose
unchanged large value the connector left out, and the columns that cannot be decoded.
"""

from __future__ import annotations

from functools import reduce

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from lakehouse.config import TopicRole
from lakehouse.envelope import DELETE, PLACEHOLDER, PLACEHOLDER_BASE64, TRUNCATE
from lakehouse.names import TableIdentity, quote_ident
from lakehouse.plan.progress import Progress
from lakehouse.plan.tables import TablePlan, Version, default_token
from lakehouse.plan.types import Column as SchemaColumn
from lakehouse.plan.types import Kind
from lakehouse.spark.decode import decode, is_undecodable

_PLACE = ("topic", "partition", "offset", "position", "op", "snapshot", "source_ts_ms")
# The placeholder is text, its bytes, or an array's only element.
_PLACEHOLDERS = (PLACEHOLDER, PLACEHOLDER_BASE64, f'["{PLACEHOLDER}"]')


def table_rows(envelopes: DataFrame, plan: TablePlan) -> DataFrame:
    """The change events of a table that this batch may apply, truncates excepted.

    Returns:
        `topic, partition, offset, position, op, snapshot, source_ts_ms, redelivered, row_key,
        key, image, unavailable, bad`.
    """
    mine = envelopes.where(
        belongs_to(plan.identity) & (F.col("op") != TRUNCATE) & _from(plan.start) & _before(plan)
    )
    parts = [
        _decode_version(mine.where(F.col("fingerprint") == version.fingerprint), version, plan)
        for version in plan.versions
    ]
    return reduce(DataFrame.unionByName, parts)


def belongs_to(identity: TableIdentity) -> Column:
    """Whether an envelope is a readable change event of the table."""
    return (
        (F.col("role") == str(TopicRole.DATA))
        & F.col("reason").isNull()
        & ~F.col("control")
        & F.col("database").eqNullSafe(F.lit(identity.database))
        & F.col("schema_name").eqNullSafe(F.lit(identity.schema_name))
        & (F.col("table_name") == identity.table)
    )


def _decode_version(rows: DataFrame, version: Version, plan: TablePlan) -> DataFrame:
    names = ",".join(f"{quote_ident(column.name)}:string" for column in version.columns)
    tokens = rows.withColumn("tokens", F.try_variant_get("payload", "$.after", f"struct<{names}>"))
    by_name = {column.name.lower(): column for column in version.columns}
    keys = [_key_value(by_name[name.lower()], plan.columns[name]).alias(name) for name in plan.key]
    values = [_value(name, kind, by_name, plan) for name, kind in plan.columns.items()]
    typed = tokens.select(
        *_PLACE,
        "redelivered",
        F.struct(*keys).alias("key"),
        F.when(F.col("op") != DELETE, F.struct(*values)).alias("image"),
        _unavailable(version, plan).alias("unavailable"),
        "tokens",
    )
    return typed.select(
        *_PLACE,
        "redelivered",
        key_text("key", plan.key).alias("row_key"),
        "key",
        "image",
        "unavailable",
        _undecodable(version).alias("bad"),
    )


def key_text(struct: str, names: tuple[str, ...]) -> Column:
    """Text that names a key: a JSON list of its values, in the order of the key's columns."""
    texts = [F.col(f"{struct}.{quote_ident(name)}").cast("string") for name in names]
    return F.to_json(F.array(*texts), {"ignoreNullFields": "false"})


def _key_value(column: SchemaColumn, kind: str) -> Column:
    token = F.element_at(F.col("key_tokens"), column.name)
    return decode(token, column.type).cast(kind)


def _value(name: str, kind: str, by_name: dict[str, SchemaColumn], plan: TablePlan) -> Column:
    """A column of the row image in silver's type; what the version lacks is null or a default."""
    column = by_name.get(name.lower())
    if column is not None:
        token = _token(column)
        present = F.when(~_is_placeholder(column), token) if plan.placeholders else token
        return decode(present, column.type).cast(kind).alias(name)
    added = plan.defaults.get(name.lower())
    if added is None:
        return F.lit(None).cast(kind).alias(name)
    return decode(F.lit(default_token(added)), added.type).cast(kind).alias(name)


def _token(column: SchemaColumn) -> Column:
    return F.col("tokens").getField(column.name)


def _is_placeholder(column: SchemaColumn) -> Column:
    return F.coalesce(_token(column).isin(*_PLACEHOLDERS), F.lit(False))


def _unavailable(version: Version, plan: TablePlan) -> Column:
    """Lower-case names of columns whose unchanged large value was left out."""
    found = [
        F.when((F.col("op") != DELETE) & _is_placeholder(column), F.lit(column.name.lower()))
        for column in version.columns
        if column.type.kind in (Kind.CAST, Kind.BASE64, Kind.ARRAY)
    ]
    return F.array_compact(F.array(*found)) if found and plan.placeholders else _no_names()


def _undecodable(version: Version) -> Column:
    """Names of columns whose token is there and gives no value."""
    checked = [
        F.when(
            (F.col("op") != DELETE)
            & ~_is_placeholder(column)
            & is_undecodable(_token(column), decode(_token(column), column.type)),
            F.lit(column.name),
        )
        for column in version.columns
        if (column.type.kind, column.type.spark) != (Kind.CAST, "string")
    ]
    return F.array_compact(F.array(*checked)) if checked else _no_names()


def _no_names() -> Column:
    return F.array().cast("array<string>")


def _from(start: Progress) -> Column:
    """Whether a message is at or behind the table's own progress."""
    ahead = F.lit(True)
    for topic, progress in start.offsets.topics.items():
        for partition, first in progress.next_offsets.items():
            here = (F.col("topic") == topic) & (F.col("partition") == partition)
            ahead = ahead & ~(here & (F.col("offset") < first))
    return ahead


def _before(plan: TablePlan) -> Column:
    """Whether a message is before the point at which the table is held."""
    inside = F.lit(True)
    for (topic, partition), limit in plan.limits.items():
        here = (F.col("topic") == topic) & (F.col("partition") == partition)
        inside = inside & ~(here & (F.col("offset") >= limit))
    return inside
