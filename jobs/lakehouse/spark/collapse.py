"""Collapse: the last change of each key by position, guarded by what is stored.

In: typed change events of one table, the stored positions of their keys, barriers. Out: what
becomes of each event (`verdict`), and one winner per key. An event counts when its position is
greater than the last one applied to its key (`design.md` §3). At an equal position the later
offset of the same topic partition counts, unless it is the same event again.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.envelope import DELETE, READ
from lakehouse.plan.tables import TablePlan
from lakehouse.spark.sql import literal

NEW, SUPERSEDED, QUARANTINED = "new", "superseded", "quarantined"
# Superseded too: it stands behind what is newer, and never came before.
OUTDATED = "outdated"
_LAST_IMAGE = (
    f"max_by(image, struct(position, offset, half)) FILTER (WHERE op != {literal(DELETE)})"
)
_EVENT = ("key", "op", "position", "topic", "partition", "offset", "source_ts_ms", "image")


def judge_events(rows: DataFrame, stored: DataFrame, barrier: str, *, is_bag: bool) -> DataFrame:
    """Give each event a verdict, and what its key has in silver.

    Args:
        rows: From `events.table_rows`.
        stored: From `silver.stored_state`.
        barrier: Position of the newest truncate that is applied already; empty for none.
        is_bag: Whether a source snapshot may read equal rows, which have one position too.

    Returns:
        The rows with `verdict, repeated, is_newer, had, live, standing, stored_position,
        stored_image`; `repeated` events are in bronze or in the batch already, `is_newer` says of
        any event, quarantined or not, that it is newer than what silver has of its key.
    """
    older = f"position < coalesce(stored_position, '') OR position <= {literal(barrier)}"
    follows = "topic = stored_at.topic AND partition = stored_at.partition"
    repeats = f"position = stored_position AND NOT ({follows} AND offset > stored_at.offset)"
    same = "topic, partition, row_key, position, op, total_order, image_hash"
    nth = f"row_number() OVER (PARTITION BY {same} ORDER BY offset)"
    again = f"(op != {literal(READ)} AND {nth} > 1)" if is_bag else f"{nth} > 1"
    is_older = f"coalesce(redelivered OR {older} OR ({repeats}) OR {again}, false)"
    falls = f"{follows} AND offset > stored_at.offset AND position < stored_position"
    explained = f"redelivered OR {again} OR op = {literal(READ)} OR position <= {literal(barrier)}"
    is_outdated = "false" if is_bag else f"{falls} AND NOT ({explained})"
    verdict = (
        f"CASE WHEN reason IS NOT NULL THEN {literal(QUARANTINED)} "
        f"WHEN {is_outdated} THEN {literal(OUTDATED)} "
        f"WHEN {is_older} THEN {literal(SUPERSEDED)} ELSE {literal(NEW)} END AS verdict"
    )
    return rows.join(stored, "row_key", "left").selectExpr(
        *rows.columns,
        "stored_position",
        "coalesce(had, 0) AS had",
        "coalesce(had, 0) > 0 AS live",
        "coalesce(standing, false) AS standing",
        "stored_image",
        f"redelivered OR {again} AS repeated",
        f"NOT {is_older} AS is_newer",
        verdict,
    )


def whole_events(rows: DataFrame) -> DataFrame:
    """An update that is two halves is quarantined as a whole, whichever of them is bad."""
    event = "OVER (PARTITION BY topic, partition, offset)"
    rest = [name for name in rows.columns if name not in ("reason", "bad")]
    return rows.selectExpr(
        *rest,
        f"max(reason) {event} AS reason",
        f"array_distinct(flatten(collect_list(bad) {event})) AS bad",
    )


def winners(judged: DataFrame, truncate: str, plan: TablePlan) -> DataFrame:
    """The last new event of each key.

    Args:
        judged: From `judge_events`, with unchanged large values resolved.
        truncate: Position of the newest truncate of the batch; events before it are gone.
        plan: The table. In a bag a key may have several rows, so that each event adds or takes
            one; a table that keeps deleted rows needs what they were.

    Returns:
        `row_key, key, op, position, topic, partition, offset, source_ts_ms, image, snapshot,
        unavailable, had, standing, marked, copies, kept`; `copies` says how many live rows the key
        has afterwards, `kept` whether it has any. With `soft` also `last_image`: what the row
        was last, before the batch or in it.
    """
    fields = (*_EVENT, "snapshot", "unavailable", "had", "standing")
    event = ", ".join((*fields, "stored_position", "stored_image"))
    last = f"max_by(struct({event}), struct(position, offset, half)) AS e"
    newer = f"position > {literal(truncate)}"
    step = f"sum(CASE WHEN NOT ({newer}) THEN 0 WHEN op = {literal(DELETE)} THEN -1 ELSE 1 END)"
    measures = [F.expr(last), F.expr(f"{step} AS step")]
    if plan.soft:
        measures.append(F.expr(f"{_LAST_IMAGE} AS last_image"))
    folded = judged.where(f"verdict = {literal(NEW)}").groupBy("row_key").agg(*measures)
    is_there = f"int(e.op != {literal(DELETE)} AND e.position > {literal(truncate)})"
    base = f"if(coalesce(e.stored_position, '') > {literal(truncate)}, e.had, 0)"
    copies = f"greatest({base} + step, 0)" if plan.is_bag else is_there
    return folded.selectExpr(
        "row_key",
        *(f"e.{name}" for name in fields),
        *(("coalesce(last_image, e.stored_image) AS last_image",) if plan.soft else ()),
        "e.stored_position IS NOT NULL AND NOT e.standing AS marked",
        f"bigint({copies}) AS copies",
    ).selectExpr("*", "copies > 0 AS kept")
