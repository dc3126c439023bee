"""Silver tables as stored: their columns and their state tables.

In: a table's plan. Out: tables made fit for the batch, and the barriers of their state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pyspark.sql.functions as F
from pyspark.sql import Column, SparkSession
from pyspark.sql import types as T

from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.spark import altering, tables
from lakehouse.spark.decoding.truncates import MAX_TRUNCATES, Truncate
from lakehouse.spark.rows import row_key
from lakehouse.spark.sql import literal
from lakehouse.spark.staging.properties import of_new_table, remember_added

CDC = "_cdc"
_CDC_FIELDS = {
    "op": "string",
    "position": "string",
    "epoch": "int",
    "source_ts": "timestamp",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
}
CDC_TYPE = f"struct<{','.join(f'{name}:{kind}' for name, kind in _CDC_FIELDS.items())}>"
DELETE_MARK, BARRIER, HELD = "delete", "truncate", "held"
IS_DELETE_MARK = f"kind = {literal(DELETE_MARK)}"
# Why delete marks stand of which bronze has no delete: a repair, and an erasure.
REPAIRED, ERASED = "reconcile", "erase"
STATE_SCHEMA = T.StructType(
    [
        T.StructField("key", T.StringType()),
        T.StructField("kind", T.StringType()),
        T.StructField("position", T.StringType()),
        T.StructField("epoch", T.IntegerType()),
        T.StructField("cause", T.StringType()),
        T.StructField("source_ts", T.TimestampType()),
        T.StructField("topic", T.StringType()),
        T.StructField("partition", T.IntegerType()),
        T.StructField("offset", T.LongType()),
    ]
)
# Merge-on-read with deletion vectors; a MERGE of silver must never become an append.
PROPERTIES = {
    "format-version": "3",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    "write.delete.isolation-level": "serializable",
    "write.update.isolation-level": "serializable",
    "write.merge.isolation-level": "serializable",
    "write.distribution-mode": "none",
    "write.delete.distribution-mode": "none",
    "write.parquet.compression-codec": "zstd",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


def cdc_name(columns: Mapping[str, str]) -> str:
    """The name of the struct with an event's coordinates; another one where the source has it."""
    return free_name(CDC, columns)


def cdc_of(schema: T.StructType) -> str:
    """The name of that struct in a silver table as it is stored."""
    return next(field.name for field in schema.fields if _is_cdc(field))


def free_name(name: str, columns: Mapping[str, str]) -> str:
    """The name of a column of ours; another one where the source has it, in any case."""
    taken = sorted(column for column in columns if column.lower() == name)
    if not taken:
        return name
    return f"{name}_{hashlib.sha256(taken[0].encode()).hexdigest()[:8]}"


def stored_columns(spark: SparkSession, silver: str, snapshot: int | None = None) -> dict[str, str]:
    """The source columns of a silver table, name → Spark type; empty when there is none.

    Args:
        spark: The session.
        silver: Namespace and name.
        snapshot: As they were at this snapshot; None for those of today.
    """
    if not tables.exists(spark, silver):
        return {}
    name = tables.full_name(silver) if snapshot is None else tables.snapshot_name(silver, snapshot)
    schema = spark.table(name).schema
    return {
        field.name: tables.type_ddl(field.dataType).replace(": ", ":").replace(", ", ",")
        for field in schema.fields
        if not _is_cdc(field)
    }


def prepare(spark: SparkSession, plan: TablePlan) -> None:
    """Create the table and its state table, or add and widen columns; repeating it is harmless."""
    if plan.added_to and plan.schema.add:
        added = (column.name for column in plan.schema.add)
        remember_added(spark, plan.silver, plan.added_to, added)
    make_fit(spark, plan, plan.silver, _field(cdc_name(plan.columns), CDC_TYPE, ""))
    if not plan.exists:
        tables.create_table(spark, plan.state, STATE_SCHEMA, PROPERTIES)


def make_fit(spark: SparkSession, plan: TablePlan, table: str, last: T.StructField) -> None:
    """Create a table with the plan's columns, or add and widen columns.

    Args:
        spark: The session.
        plan: The columns.
        table: Namespace and name.
        last: Our own column, behind the source's.
    """
    stored = stored_columns(spark, table)
    if not stored:
        properties = {**PROPERTIES, **of_new_table(plan)}
        tables.create_table(spark, table, _schema(plan, last), properties)
        return
    present = {name.lower(): kind for name, kind in stored.items()}
    missing = [column for column in plan.schema.add if column.name.lower() not in present]
    if missing:
        altering.add_columns(spark, table, [_field(c.name, c.type.spark, c.doc) for c in missing])
    for name, kind in plan.schema.widen:
        if present.get(name.lower()) != kind:
            altering.widen_column(spark, table, name, kind)


def _schema(plan: TablePlan, last: T.StructField) -> T.StructType:
    docs = {column.name: column.doc for v in plan.versions for column in v.stored_columns}
    fields = [_field(name, kind, docs.get(name, "")) for name, kind in plan.columns.items()]
    return T.StructType([*fields, last])


def _field(name: str, kind: str, doc: str) -> T.StructField:
    data_type = T.DataType.fromDDL(kind)
    return T.StructField(name, data_type, metadata={"comment": doc} if doc else {})


def _is_cdc(field: T.StructField) -> bool:
    names = list(_CDC_FIELDS)
    return (
        field.name.startswith(CDC)
        and isinstance(field.dataType, T.StructType)
        and field.dataType.names == names
    )


def is_live(cdc: str) -> str:
    """Whether a row of silver is none that is only marked as deleted.

    Args:
        cdc: The struct with the row's coordinates, quoted.
    """
    return f"NOT ({cdc}.op <=> {literal(DELETE)})"


def newest_barrier(spark: SparkSession, plan: TablePlan) -> str:
    """Position of the newest truncate that silver has applied; empty for none."""
    row = (
        tables.at_ref(spark, plan.state, plan.base)
        .where(F.col("kind") == BARRIER)
        .agg(F.max("position").alias("position"))
        .first()
    )
    return (row["position"] if row else None) or ""


def barriers_from(spark: SparkSession, plan: TablePlan, position: str) -> list[Truncate]:
    """The truncates that silver has applied, from a position on, in no order."""
    rows = tables.at_ref(spark, plan.state, plan.base).where(
        f"kind = {literal(BARRIER)} AND position >= {literal(position)}"
    )
    ends = rows.selectExpr(
        "position", "unix_millis(source_ts) AS source_ts_ms", "topic", "partition", "offset"
    )
    return [Truncate(**row.asDict()) for row in ends.limit(MAX_TRUNCATES).collect()]


def same_key(plan: TablePlan) -> Column:
    """Whether a row `s` has the key `k.key`, or in a bag the name `k.row_key`."""
    if plan.is_bag:
        return F.expr(f"{row_key(plan, 's')} = k.row_key")
    condition = F.lit(True)
    for name in plan.key:
        quoted = quote_ident(name)
        condition = condition & (F.col(f"s.{quoted}") == F.col(f"k.key.{quoted}"))
    return condition
