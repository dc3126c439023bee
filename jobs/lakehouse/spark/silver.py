"""Silver tables as stored: their columns, their state tables, and the positions of given keys.

In: a table's plan. Out: DataFrames of what is stored, and tables made fit for the batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as T

from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.tables import TablePlan
from lakehouse.spark import altering, tables
from lakehouse.spark.properties import of_new_table, remember_added
from lakehouse.spark.rows import row_key
from lakehouse.spark.sql import literal
from lakehouse.spark.truncates import MAX_TRUNCATES, Truncate
from lakehouse.spark.values import decode_default

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


def stored_state(
    spark: SparkSession, plan: TablePlan, keys: DataFrame, *, with_image: bool, has_state: bool
) -> DataFrame:
    """What silver and its state table have for given keys.

    Args:
        spark: The session.
        plan: The table.
        keys: `row_key, key`, each key once; small enough to be sent to every task.
        with_image: Whether the rows' images are needed too.
        has_state: Whether the state table has rows at all.

    Returns:
        `row_key, stored_position, stored_at, had, standing, stored_image`, at most one row for
        each key; `had` says how many live rows it has, `standing` whether silver has any row of
        it, be it one that is marked as deleted.
    """
    cdc = f"s.{quote_ident(cdc_name(plan.columns))}"
    no_image = F.lit(None).cast(_image_type(plan)).alias("stored_image")
    rows = tables.at_ref(spark, plan.silver, plan.base).alias("s")
    image = F.expr(f"{_stored_image(plan)} AS stored_image")
    live = rows.join(F.broadcast(keys.alias("k")), same_key(plan), "inner").select(
        "k.row_key",
        F.col(f"{cdc}.position").alias("stored_position"),
        F.expr(f"struct({cdc}.topic, {cdc}.partition, {cdc}.offset) AS stored_at"),
        F.expr(f"bigint({is_live(cdc)}) AS had"),
        F.lit(True).alias("standing"),
        image if with_image else no_image,
    )
    if plan.is_bag:
        live = live.groupBy("row_key").agg(
            F.max("stored_position").alias("stored_position"),
            F.max_by("stored_at", "stored_position").alias("stored_at"),
            F.sum("had").alias("had"),
            F.first("standing").alias("standing"),
            F.first("stored_image").alias("stored_image"),
        )
    if not has_state:
        return live
    marks = (
        tables.at_ref(spark, plan.state, plan.base)
        .where(F.col("kind") == DELETE_MARK)
        .join(F.broadcast(keys.select("row_key")), F.col("key") == F.col("row_key"), "inner")
        .groupBy("row_key")
        .agg(F.expr("max_by(struct(position, topic, partition, offset), position) AS m"))
        .select(
            "row_key",
            F.col("m.position").alias("stored_position"),
            F.expr("struct(m.topic, m.partition, m.offset) AS stored_at"),
            F.lit(0).cast("bigint").alias("had"),
            F.lit(False).alias("standing"),
            no_image,
        )
    )
    return live.unionByName(marks)


def is_live(cdc: str) -> str:
    """Whether a row of silver is none that is only marked as deleted.

    Args:
        cdc: The struct with the row's coordinates, quoted.
    """
    return f"NOT ({cdc}.op <=> {literal(DELETE)})"


def _stored_image(plan: TablePlan) -> str:
    """The image of a stored row `s`; a column that this batch adds has its default there."""
    added = {column.name.lower() for column in plan.schema.add}
    values = (
        f"CAST({decode_default(plan.defaults[name.lower()])} AS {kind})"
        if name.lower() in added and name.lower() in plan.defaults
        else f"s.{quote_ident(name)}"
        for name, kind in plan.columns.items()
    )
    named = zip(map(literal, plan.columns), values, strict=True)
    return f"named_struct({', '.join(f'{name}, {value}' for name, value in named)})"


def nothing_stored(spark: SparkSession, plan: TablePlan) -> DataFrame:
    """`stored_state` of a table without rows and marks."""
    return spark.range(0).select(
        F.lit(None).cast("string").alias("row_key"),
        F.lit(None).cast("string").alias("stored_position"),
        F.lit(None).cast("struct<topic:string,partition:int,offset:bigint>").alias("stored_at"),
        F.lit(None).cast("bigint").alias("had"),
        F.lit(None).cast("boolean").alias("standing"),
        F.lit(None).cast(_image_type(plan)).alias("stored_image"),
    )


def _image_type(plan: TablePlan) -> str:
    return f"struct<{','.join(f'{quote_ident(n)}:{k}' for n, k in plan.columns.items())}>"


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
