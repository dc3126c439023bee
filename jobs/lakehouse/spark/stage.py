"""Stages one table's batch on a branch: rows deleted, rows appended, marks and barriers written.

In: a table's plan and the batch's envelopes. Out: a `Staged` value with the branch's snapshots and
the counts of the batch. `main` is not touched; a branch that a killed attempt left is never read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyspark.sql.functions as F
from pyiceberg.catalog import Catalog
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession

from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.conservation import summed
from lakehouse.plan.tables import TablePlan, TopicPartition, default_token
from lakehouse.plan.types import Column
from lakehouse.spark import collapse, events, metadata, placeholders, silver, tables
from lakehouse.spark.decode import decode

ROWS_PROPERTY = "lakehouse.rows"
# Up to this many winners go into one file.
_ROWS_PER_FILE = 500_000
# Coordinates of unreadable events that the driver holds for the quarantine.
MAX_QUARANTINED = 10_000


@dataclass(frozen=True, slots=True)
class Staged:
    """What a batch did to one table.

    Attributes:
        changed: Whether the branch differs from `main`.
        snapshot: Head of the silver branch, or of `main` where nothing changed.
        state_snapshot: The same for the state table; None while it has no snapshot.
        rows: Rows in the table afterwards.
        seen: Topic partition → events that staging looked at.
        superseded: Topic partition → events that were older than what is stored.
        quarantined: Events whose values cannot be decoded.
        unresolved: Columns whose unchanged value was nowhere to be found → rows.
        bad: Topic, topic partition, offset and columns of the events that cannot be decoded.
    """

    changed: bool
    snapshot: int | None
    state_snapshot: int | None
    rows: int
    upserts: int = 0
    deletes: int = 0
    seen: Mapping[TopicPartition, int] = field(default_factory=dict)
    superseded: Mapping[TopicPartition, int] = field(default_factory=dict)
    quarantined: Mapping[TopicPartition, int] = field(default_factory=dict)
    unresolved: Mapping[str, int] = field(default_factory=dict)
    bad: tuple[tuple[str, int, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Work:
    """One table's staging: everything that its functions share."""

    spark: SparkSession
    catalog: Catalog
    plan: TablePlan
    branch: str
    summary: Mapping[str, str]
    check: Callable[[], None]


def stage_table(work: Work, envelopes: DataFrame) -> Staged:
    """Stage the batch of one table.

    Args:
        work: A session of this table's own, the plan, the branch and the commits' properties.
        envelopes: The batch, with positions, up to where it may be applied.

    Raises:
        Superseded: Another run took the lease.
    """
    plan = work.plan
    silver.prepare(work.spark, plan)
    has_state = plan.exists and metadata.head(work.catalog, plan.state) is not None
    barrier = silver.newest_barrier(work.spark, plan) if has_state else ""
    truncate = plan.truncate if plan.truncate > barrier else ""
    judged = _judged(work, envelopes, barrier, has_state=has_state).localCheckpoint(eager=False)
    folded = collapse.winners(
        placeholders.resolve(judged, list(plan.columns)) if plan.placeholders else judged, truncate
    ).localCheckpoint(eager=False)
    numbers = _numbers(folded)
    before = _rows_before(work)
    if not numbers["keys"] and not truncate and not (plan.schema.add and before):
        return _result(work, judged, before, changed=False)
    work.check()
    if not truncate:
        rows = str(_rows_after(work, numbers, before, truncate))
        work = replace(work, summary={**work.summary, ROWS_PROPERTY: rows})
    _write_silver(work, folded, numbers, truncate)
    _write_state(work, folded, numbers, truncate)
    return replace(
        _result(work, judged, _rows_after(work, numbers, before, truncate), changed=True),
        upserts=numbers["upserts"],
        deletes=numbers["deletes"],
        unresolved=_unresolved(folded) if plan.placeholders else {},
    )


def _judged(work: Work, envelopes: DataFrame, barrier: str, *, has_state: bool) -> DataFrame:
    rows = events.table_rows(envelopes, work.plan)
    is_empty = metadata.head(work.catalog, work.plan.silver) is None
    if is_empty and not has_state:
        stored = silver.nothing_stored(work.spark, work.plan)
    else:
        keys = rows.groupBy("row_key").agg(F.first("key").alias("key"))
        stored = silver.stored_state(
            work.spark, work.plan, keys, with_image=work.plan.placeholders, has_state=has_state
        )
    return collapse.judge_events(rows, stored, barrier)


def _verdicts(judged: DataFrame) -> dict[str, dict[TopicPartition, int]]:
    found: dict[str, dict[TopicPartition, int]] = {}
    for row in judged.groupBy("topic", "partition", "verdict").count().collect():
        place = (row["topic"], row["partition"])
        found.setdefault(row["verdict"], {})[place] = row["count"]
    return found


def _numbers(folded: DataFrame) -> dict[str, int]:
    kept, live = F.col("kept"), F.col("live")
    counted = {
        "keys": F.lit(True),
        "upserts": kept,
        "inserts": kept & ~live,
        "deletes": ~kept & live,
        "live": live,
        "marked": F.col("marked"),
        "marks": F.col("op") == DELETE,
    }
    row = folded.agg(*(F.count_if(test).alias(name) for name, test in counted.items())).first()
    return {name: int(row[name]) for name in counted} if row else dict.fromkeys(counted, 0)


def _rows_before(work: Work) -> int:
    if not work.plan.exists:
        return 0
    head = metadata.head(work.catalog, work.plan.silver)
    if head is not None and ROWS_PROPERTY in head.summary:
        return int(head.summary[ROWS_PROPERTY])
    if head is None:
        return 0
    return work.spark.table(tables.full_name(work.plan.silver)).count()


def _write_silver(work: Work, folded: DataFrame, numbers: Mapping[str, int], truncate: str) -> None:
    spark, plan = work.spark, work.plan
    tables.create_branch(spark, plan.silver, work.branch)
    cdc = quote_ident(silver.cdc_name(plan.columns))
    added = {column.name.lower() for column in plan.schema.add}
    fills = [column for name, column in plan.defaults.items() if name in added]
    if plan.exists and fills:
        values = _assignments(work, fills)
        tables.update_on_branch(spark, plan.silver, work.branch, values, work.summary)
    if truncate:
        old = f"{cdc}.position < '{truncate}'"
        tables.delete_on_branch(spark, plan.silver, work.branch, old, work.summary)
    if numbers["live"]:
        folded.where("live").select("key.*").createOrReplaceTempView("changed_keys")
        names = ", ".join(quote_ident(name) for name in plan.key)
        condition = f"({names}) IN (SELECT {names} FROM changed_keys)"
        tables.delete_on_branch(spark, plan.silver, work.branch, condition, work.summary)
    if numbers["upserts"]:
        rows = folded.where("kept").select("image.*", _cdc().alias(silver.cdc_name(plan.columns)))
        files = 1 + numbers["upserts"] // _ROWS_PER_FILE
        tables.append_on_branch(rows.coalesce(files), plan.silver, work.branch, work.summary)


def _assignments(work: Work, added: Iterable[Column]) -> str:
    """The constant defaults of added columns as Spark SQL, computed once by the engine."""
    columns = list(added)
    values = work.spark.range(1).select(
        *(
            F.hex(value) if column.type.spark == "binary" else value.cast("string")
            for column in columns
            for value in [decode(F.lit(default_token(column)), column.type)]
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
    literal = tables.literal(text)
    return f"unhex({literal})" if kind == "binary" else f"CAST({literal} AS {kind})"


def _cdc() -> SparkColumn:
    return F.struct(
        "op",
        "position",
        F.lit(0).alias("epoch"),
        F.timestamp_millis("source_ts_ms").alias("source_ts"),
        "topic",
        "partition",
        "offset",
    )


def _write_state(work: Work, folded: DataFrame, numbers: Mapping[str, int], truncate: str) -> None:
    """Marks of keys that went, and a barrier for a truncate; marks of keys that came go."""
    spark, plan = work.spark, work.plan
    if not (numbers["marked"] or numbers["marks"] or truncate):
        return
    tables.create_branch(spark, plan.state, work.branch)
    if numbers["marked"]:
        folded.where("marked").select("row_key").createOrReplaceTempView("unmarked_keys")
        condition = f"kind = '{silver.DELETE_MARK}' AND key IN (SELECT row_key FROM unmarked_keys)"
        tables.delete_on_branch(spark, plan.state, work.branch, condition, work.summary)
    rows = folded.where(F.col("op") == DELETE).select(
        F.col("row_key").alias("key"), F.lit(silver.DELETE_MARK).alias("kind"), *_place("delete")
    )
    if truncate:
        barrier = spark.range(1).select(
            F.lit(None).cast("string").alias("key"),
            F.lit(silver.BARRIER).alias("kind"),
            F.lit(truncate).alias("position"),
            F.lit(0).alias("epoch"),
            F.lit("truncate").alias("cause"),
            F.lit(None).cast("timestamp").alias("source_ts"),
            F.lit(None).cast("string").alias("topic"),
            F.lit(None).cast("int").alias("partition"),
            F.lit(None).cast("bigint").alias("offset"),
        )
        rows = rows.unionByName(barrier)
    tables.append_on_branch(rows.coalesce(1), plan.state, work.branch, work.summary)


def _place(cause: str) -> list[SparkColumn]:
    return [
        F.col("position"),
        F.lit(0).alias("epoch"),
        F.lit(cause).alias("cause"),
        F.timestamp_millis("source_ts_ms").alias("source_ts"),
        F.col("topic"),
        F.col("partition"),
        F.col("offset"),
    ]


def _result(work: Work, judged: DataFrame, rows: int, *, changed: bool) -> Staged:
    """What the table has afterwards; counts of written rows are added by the caller."""
    verdicts = _verdicts(judged)
    heads = metadata.refs(work.catalog, work.plan.silver)
    states = metadata.refs(work.catalog, work.plan.state)
    return Staged(
        changed=changed,
        snapshot=heads.get(work.branch, heads.get(metadata.MAIN)),
        state_snapshot=states.get(work.branch, states.get(metadata.MAIN)),
        rows=rows,
        seen=summed(verdicts.values()),
        superseded=verdicts.get(collapse.SUPERSEDED, {}),
        quarantined=verdicts.get(collapse.QUARANTINED, {}),
        bad=_bad(judged) if collapse.QUARANTINED in verdicts else (),
    )


def _rows_after(work: Work, numbers: Mapping[str, int], before: int, truncate: str) -> int:
    if truncate:
        return work.spark.table(tables.full_name(work.plan.silver, work.branch)).count()
    return before + numbers["inserts"] - numbers["deletes"]


def _unresolved(folded: DataFrame) -> dict[str, int]:
    lacking = folded.where("kept").select(F.explode("unavailable").alias("name"))
    return {row["name"]: row["count"] for row in lacking.groupBy("name").count().collect()}


def _bad(judged: DataFrame) -> tuple[tuple[str, int, int, str], ...]:
    rows = (
        judged.where(F.col("verdict") == collapse.QUARANTINED)
        .select("topic", "partition", "offset", F.array_join("bad", ", ").alias("columns"))
        .limit(MAX_QUARANTINED)
        .collect()
    )
    return tuple((r["topic"], r["partition"], r["offset"], r["columns"]) for r in rows)
