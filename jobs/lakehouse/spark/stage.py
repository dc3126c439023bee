"""Stages one table's batch on a branch: rows deleted, rows appended, marks and barriers written.

In: a table's plan and the batch's envelopes. Out: a `Staged` value with the branch's snapshots and
the counts of the batch. `main` is not touched; a branch that a killed attempt left is never read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyspark.sql.functions as F
from pyiceberg.catalog import Catalog
from pyspark.sql import DataFrame, SparkSession

from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.conservation import summed
from lakehouse.plan.tables import TablePlan, TopicPartition
from lakehouse.plan.types import Column
from lakehouse.spark import collapse, events, metadata, placeholders, silver, tables
from lakehouse.spark.session import tune
from lakehouse.spark.sql import literal

ROWS_PROPERTY = "lakehouse.rows"
_COORDINATES = (
    "timestamp_millis(source_ts_ms) AS source_ts",
    "topic",
    "partition",
    "offset",
)
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


def stage_table(work: Work, envelopes: DataFrame) -> Staged:
    """Stage the batch of one table.

    Args:
        work: A session of this table's own, the plan, the branch and the commits' properties.
        envelopes: The batch, with positions, up to where it may be applied.

    Raises:
        Superseded: Another run took the lease.
    """
    plan = work.plan
    before = _rows_before(work)
    tune(work.spark, before + work.messages)
    silver.prepare(work.spark, plan)
    has_state = plan.exists and metadata.head(work.catalog, plan.state) is not None
    barrier = silver.newest_barrier(work.spark, plan) if has_state else ""
    truncate = plan.truncate if plan.truncate > barrier else ""
    judged = _judged(work, envelopes, barrier, has_state=has_state).localCheckpoint(eager=False)
    folded = collapse.winners(
        placeholders.resolve(judged, list(plan.columns)) if plan.placeholders else judged, truncate
    ).localCheckpoint(eager=False)
    numbers = _numbers(folded)
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
        keys = rows.groupBy("row_key").agg(F.expr("first(key) AS key"))
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
    counted = {
        "keys": "true",
        "upserts": "kept",
        "inserts": "kept AND NOT live",
        "deletes": "NOT kept AND live",
        "live": "live",
        "marked": "marked",
        "marks": f"op = {literal(DELETE)}",
    }
    row = folded.selectExpr(*(f"count_if({test}) AS {name}" for name, test in counted.items()))
    found = row.collect()[0]
    return {name: int(found[name]) for name in counted}


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
        old = f"{cdc}.position < {literal(truncate)}"
        tables.delete_on_branch(spark, plan.silver, work.branch, old, work.summary)
    if numbers["live"]:
        folded.where("live").select("key.*").createOrReplaceTempView("changed_keys")
        names = ", ".join(quote_ident(name) for name in plan.key)
        condition = f"({names}) IN (SELECT {names} FROM changed_keys)"
        tables.delete_on_branch(spark, plan.silver, work.branch, condition, work.summary)
    if numbers["upserts"]:
        event = ", ".join(("op", "position", "0 AS epoch", *_COORDINATES))
        rows = folded.where("kept").selectExpr("image.*", f"struct({event}) AS {cdc}")
        files = 1 + numbers["upserts"] // _ROWS_PER_FILE
        tables.append_on_branch(rows.coalesce(files), plan.silver, work.branch, work.summary)


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
    rows = folded.where(f"op = {literal(DELETE)}").selectExpr(
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
        judged.where(f"verdict = {literal(collapse.QUARANTINED)}")
        .selectExpr("topic", "partition", "offset", "array_join(bad, ', ') AS columns")
        .limit(MAX_QUARANTINED)
        .collect()
    )
    return tuple((r["topic"], r["partition"], r["offset"], r["columns"]) for r in rows)
