"""Sweeps: what a repeated source snapshot says of the rows that it did not read.

In: a table's plan, its events, what silver has. Out: the events with a delete for each such row
where it may go, and what a person should know. A snapshot reads rows again and never says what was
deleted meanwhile; what it did not read and was there before is a ghost.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.envelope import DELETE, INCREMENTAL, READ
from lakehouse.names import quote_ident
from lakehouse.plan.batches.sweeps import Generation, Marker
from lakehouse.plan.batches.tables import Beginning, TablePlan
from lakehouse.spark import metadata, tables
from lakehouse.spark.batches.generations import newest_ended
from lakehouse.spark.once import once
from lakehouse.spark.rows import key_text
from lakehouse.spark.sql import literal
from lakehouse.spark.staging import silver
from lakehouse.spark.staging.writing import Work

_SHOWN = 20
_OF_SNAPSHOT = f"op = {literal(READ)} AND snapshot != {literal(INCREMENTAL)}"


@dataclass(frozen=True, slots=True)
class Swept:
    """A table's events after a source snapshot that ends among them.

    Attributes:
        rows: The events, with a delete for each row that goes.
        finding: What a person should know; empty for nothing.
    """

    rows: DataFrame
    finding: str = ""


def sweep(work: Work, rows: DataFrame) -> Swept:
    """Look for what the newest source snapshot of the batch did not read.

    Args:
        work: The table, and what a snapshot may remove of it.
        rows: From `events.table_rows`.
    """
    if not work.plan.read_again or work.replay:
        return Swept(rows)
    if work.plan.sweep.blind:
        return Swept(rows, f"a source snapshot read it again: {work.plan.sweep.blind}")
    # Each question below, and what comes after them, would decode the snapshot once more.
    rows = once(rows)
    generation = newest_ended(rows)
    if generation is None:
        return Swept(rows)
    end, begun = generation.end, work.plan.sweep.begun
    start = generation.start or _alone(work, rows, generation)
    first = start.offset if start else 0
    live = once(_live(work, rows, first))
    again = rows.where(f"offset BETWEEN {first} AND {end.offset}")
    older = live if start else live.where(_is_older(begun, end))
    ghosts = once(older.join(again, "row_key", "left_anti"))
    count = ghosts.count()
    if not count:
        return Swept(rows)
    there = live.select("row_key").union(again.select("row_key")).distinct().count()
    kept = _reason(work, rows, count, there) if start or begun else "its beginning was not landed"
    shown = ghosts.select("row_key").orderBy("row_key").limit(_SHOWN).collect()
    names = ", ".join(row["row_key"] for row in shown)
    what = f"{count} rows were not read by the newest source snapshot"
    if kept:
        return Swept(rows, f"{what} and stay, because {kept}: {names}")
    return Swept(rows.unionByName(_deletes(ghosts, rows, end)), f"{what} and went: {names}")


def _is_older(begun: Beginning | None, end: Marker) -> str:
    """Whether a row is as it was before a source snapshot that did not begin in this batch.

    A row that was read at the position that it has may have kept its coordinates.
    """
    if begun is None:
        return f"position < {literal(end.position)}"
    if begun.position:
        return f"offset < {begun.offset} AND position < {literal(begun.position)}"
    return f"offset < {begun.offset} AND position <= {literal(end.position)}"


def _alone(work: Work, rows: DataFrame, generation: Generation) -> Beginning | None:
    """Where a generation of one row begins, which has one marker, its end; None for another."""
    end, after = generation.end, generation.after
    others = rows.where(f"{_OF_SNAPSHOT} AND offset > {after} AND offset < {end.offset}")
    is_alone = (after >= 0 or work.plan.sweep.ended) and others.isEmpty()
    return Beginning(end.offset, end.position) if is_alone else None


def _live(work: Work, rows: DataFrame, start: int) -> DataFrame:
    """`row_key, key, position, offset` of what was there before a snapshot began."""
    plan = work.plan
    sent = rows.where(f"offset < {start} AND reason IS NULL AND NOT redelivered")
    older = sent.select("row_key", "key", "op", "position", "offset", "half")
    if plan.exists and metadata.head(work.catalog, plan.silver, plan.base) is not None:
        older = older.unionByName(_stored(work))
    order = "struct(position, offset, half)"
    last = older.groupBy("row_key").agg(
        F.expr(f"max_by(struct(op, key, position, offset), {order}) AS e")
    )
    return last.where(f"e.op != {literal(DELETE)}").selectExpr("row_key", "e.*").drop("op")


def _stored(work: Work) -> DataFrame:
    plan, cdc = work.plan, quote_ident(silver.cdc_name(work.plan.columns))
    rows = tables.at_ref(work.spark, plan.silver, plan.base)
    live = rows.where(silver.is_live(cdc))
    return live.selectExpr(
        f"{key_text(plan)} AS row_key",
        f"{_key(plan)} AS key",
        f"{cdc}.op",
        f"{cdc}.position",
        f"{cdc}.offset",
        "0 AS half",
    )


def _key(plan: TablePlan) -> str:
    parts = (f"{literal(name)}, {quote_ident(name)}" for name in plan.key)
    return f"named_struct({', '.join(parts)})"


def _reason(work: Work, rows: DataFrame, ghosts: int, there: int) -> str:
    """Why the ghosts stay; empty where they may go."""
    rule = work.plan.sweep
    if rule.refused:
        return rule.refused
    if work.plan.held or not rows.where(f"{_OF_SNAPSHOT} AND reason IS NOT NULL").isEmpty():
        return "events of the table are in quarantine: `lakehouse replay` applies what it can"
    if ghosts > rule.share * there:
        return (
            f"they are {ghosts} of {there} rows, expected at most {rule.share:.0%}: raise "
            "snapshot.max_sweep in the TOML file if they are right"
        )
    return ""


def _deletes(ghosts: DataFrame, rows: DataFrame, end: Marker) -> DataFrame:
    """An event for each ghost that deletes it where the snapshot ends; none is counted as sent."""
    time = "NULL" if end.source_ts_ms is None else f"{end.source_ts_ms}"
    given = {
        "topic": literal(end.topic),
        "partition": str(end.partition),
        "offset": str(end.offset),
        # Before the snapshot there may be a change that it does not place itself behind.
        "position": f"greatest(position, {literal(end.position)})",
        "op": literal(DELETE),
        "snapshot": literal(end.snapshot),
        "source_ts_ms": time,
        "redelivered": "false",
        "half": "0",
        "counted": "false",
        "row_key": "row_key",
        "key": "key",
        "unavailable": "array()",
        "bad": "array()",
    }
    return ghosts.selectExpr(
        *(
            f"CAST({given.get(field.name, 'NULL')} AS {tables.type_ddl(field.dataType)}) "
            f"AS {field.name}"
            for field in rows.schema.fields
        )
    )
