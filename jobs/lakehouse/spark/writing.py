"""Writes what a batch does to one table on its staging branch.

In: the winners of the batch and how many of each kind they are. Out: commits on the branches of
the silver table (rows deleted, rows appended) and of its state table (delete marks, barriers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyspark.sql import DataFrame, SparkSession

from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.tables import TablePlan
from lakehouse.plan.types import Column
from lakehouse.spark import events, silver, tables
from lakehouse.spark.rows import row_key
from lakehouse.spark.sql import literal

_COORDINATES = (
    "timestamp_millis(source_ts_ms) AS source_ts",
    "topic",
    "partition",
    "offset",
)
# Up to this many winners go into one file.
_ROWS_PER_FILE = 500_000


@dataclass(frozen=True, slots=True)
class Work:
    """One table's staging: everything that its functions share.

    Attributes:
        messages: How many messages the batch has at most.
    """

    spark: SparkSession
    catalog: Catalog
    plan: TablePlan
    branch: str
    summary: Mapping[str, str]
    check: Callable[[], None]
    messages: int


def write_silver(work: Work, folded: DataFrame, numbers: Mapping[str, int], truncate: str) -> None:
    """Rows that changed or went are deleted, winners appended; added columns get their default.

    Args:
        work: The table and its branch.
        folded: From `collapse.winners`.
        numbers: How many winners are `live` (have a row before) and `upserts` (have one after).
        truncate: Position of a truncate that comes with this batch; empty for none.
    """
    spark, plan = work.spark, work.plan
    tables.create_branch(spark, plan.silver, work.branch)
    cdc = quote_ident(silver.cdc_name(plan.columns))
    added = {column.name.lower() for column in plan.schema.add}
    fills = [column for name, column in plan.defaults.items() if name in added]
    if plan.exists and fills:
        values = _assignments(work, fills)
        tables.update_on_branch(spark, plan.silver, work.branch, values, work.summary)
    if truncate:
        old = f"{cdc}.position < {literal(truncate)}"
        tables.delete_on_branch(spark, plan.silver, work.branch, old, work.summary)
    if numbers["live"]:
        folded.where("live").createOrReplaceTempView("changed_keys")
        condition = f"({_names(plan)}) IN (SELECT {_names(plan, 'key.')} FROM changed_keys)"
        tables.delete_on_branch(spark, plan.silver, work.branch, condition, work.summary)
    if numbers["upserts"]:
        event = ", ".join(("op", "position", "0 AS epoch", *_COORDINATES))
        kept = folded.where("kept")
        if plan.is_bag:
            kept = kept.selectExpr("*", "explode(sequence(1, copies)) AS copy")
        rows = kept.selectExpr("image.*", f"struct({event}) AS {cdc}")
        files = 1 + numbers["upserts"] // _ROWS_PER_FILE
        tables.append_on_branch(rows.coalesce(files), plan.silver, work.branch, work.summary)


def _names(plan: TablePlan, prefix: str = "") -> str:
    """What names a row, in the table or, with a prefix, among the winners."""
    if plan.is_bag:
        return "row_key" if prefix else row_key(plan)
    return ", ".join(prefix + quote_ident(name) for name in plan.key)


def is_mark(plan: TablePlan) -> str:
    """Whether a winner leaves a delete mark."""
    return "NOT kept" if plan.is_bag else f"op = {literal(DELETE)}"


def _assignments(work: Work, added: Iterable[Column]) -> str:
    """The constant defaults of added columns as Spark SQL, computed once by the engine."""
    columns = list(added)
    values = work.spark.range(1).selectExpr(
        *(
            f"hex({value})" if column.type.spark == "binary" else f"CAST({value} AS string)"
            for column in columns
            for value in [events.decode_default(column)]
        )
    )
    row = values.collect()[0]
    return ", ".join(
        f"{quote_ident(column.name)} = {_constant(row[index], column.type.spark)}"
        for index, column in enumerate(columns)
    )


def _constant(text: str | None, kind: str) -> str:
    if text is None:
        return "NULL"
    quoted = literal(text)
    return f"unhex({quoted})" if kind == "binary" else f"CAST({quoted} AS {kind})"


def write_state(work: Work, folded: DataFrame, numbers: Mapping[str, int], truncate: str) -> None:
    """Marks of keys that went, and a barrier for a truncate; marks of keys that came go."""
    spark, plan = work.spark, work.plan
    if not (numbers["marked"] or numbers["marks"] or truncate):
        return
    tables.create_branch(spark, plan.state, work.branch)
    if numbers["marked"]:
        folded.where("marked").select("row_key").createOrReplaceTempView("unmarked_keys")
        condition = f"kind = '{silver.DELETE_MARK}' AND key IN (SELECT row_key FROM unmarked_keys)"
        tables.delete_on_branch(spark, plan.state, work.branch, condition, work.summary)
    rows = folded.where(is_mark(plan)).selectExpr(
        "row_key AS key",
        f"{literal(silver.DELETE_MARK)} AS kind",
        "position",
        "0 AS epoch",
        "'delete' AS cause",
        *_COORDINATES,
    )
    if truncate:
        barrier = spark.range(1).selectExpr(
            "CAST(NULL AS string) AS key",
            f"{literal(silver.BARRIER)} AS kind",
            f"{literal(truncate)} AS position",
            "0 AS epoch",
            "'truncate' AS cause",
            "CAST(NULL AS timestamp) AS source_ts",
            "CAST(NULL AS string) AS topic",
            "CAST(NULL AS int) AS partition",
            "CAST(NULL AS bigint) AS offset",
        )
        rows = rows.unionByName(barrier)
    tables.append_on_branch(rows.coalesce(1), plan.state, work.branch, work.summary)
