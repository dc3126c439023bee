"""Collapse: the last change of each key by position, guarded by what is stored.

In: typed change events of one table, the stored positions of their keys, barriers. Out: what
becomes of each event (`verdict`), and one winner per key. An event counts when its position is
greater than the last one applied to its key (`design.md` §3). At an equal position the later
offset of the same topic partition counts, unless it is the same event again.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.envelope import DELETE
from lakehouse.spark.sql import literal

NEW, SUPERSEDED, QUARANTINED = "new", "superseded", "quarantined"
_EVENT = ("key", "op", "position", "topic", "partition", "offset", "source_ts_ms", "image")


def judge_events(rows: DataFrame, stored: DataFrame, barrier: str) -> DataFrame:
    """Give each event a verdict, and what its key has in silver.

    Args:
        rows: From `events.table_rows`.
        stored: From `silver.stored_state`.
        barrier: Position of the newest truncate that is applied already; empty for none.

    Returns:
        The rows with `verdict, live, stored_position, stored_image`.
    """
    older = f"position < coalesce(stored_position, '') OR position <= {literal(barrier)}"
    follows = "topic = stored_at.topic AND partition = stored_at.partition"
    repeats = f"position = stored_position AND NOT ({follows} AND offset > stored_at.offset)"
    same = "topic, partition, row_key, position, op, total_order, image_hash"
    nth = f"row_number() OVER (PARTITION BY {same} ORDER BY offset)"
    verdict = (
        f"CASE WHEN reason IS NOT NULL THEN {literal(QUARANTINED)} "
        f"WHEN redelivered OR {older} OR ({repeats}) OR {nth} > 1 THEN {literal(SUPERSEDED)} "
        f"ELSE {literal(NEW)} END AS verdict"
    )
    return rows.join(stored, "row_key", "left").selectExpr(
        *rows.columns,
        "stored_position",
        "coalesce(live, false) AS live",
        "stored_image",
        verdict,
    )


def winners(judged: DataFrame, truncate: str) -> DataFrame:
    """The last new event of each key.

    Args:
        judged: From `judge_events`, with unchanged large values resolved.
        truncate: Position of the newest truncate of the batch; events before it are gone.

    Returns:
        `row_key, key, op, position, topic, partition, offset, source_ts_ms, image, unavailable,
        live, marked, kept`; `kept` says whether the key has a row afterwards.
    """
    event = ", ".join((*_EVENT, "unavailable", "live", "stored_position IS NOT NULL AS stored"))
    last = F.expr(f"max_by(struct({event}), struct(position, offset)) AS e")
    folded = judged.where(f"verdict = {literal(NEW)}").groupBy("row_key").agg(last)
    return folded.selectExpr(
        "row_key",
        *(f"e.{name}" for name in (*_EVENT, "unavailable", "live")),
        "e.stored AND NOT e.live AS marked",
        f"e.op != {literal(DELETE)} AND e.position > {literal(truncate)} AS kept",
    )
