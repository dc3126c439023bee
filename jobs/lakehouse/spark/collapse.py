"""Collapse: the last change of each key by position, guarded by what is stored.

In: typed change events of one table, the stored positions of their keys, barriers. Out: what
becomes of each event (`verdict`), and one winner per key. An event counts when its position is
greater than the last one applied to its key (`design.md` §3); offsets only break ties.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, Window

from lakehouse.envelope import DELETE

NEW, SUPERSEDED, QUARANTINED = "new", "superseded", "quarantined"
_ORDER = ("position", "offset")


def judge_events(rows: DataFrame, stored: DataFrame, barrier: str) -> DataFrame:
    """Give each event a verdict, and what its key has in silver.

    Args:
        rows: From `events.table_rows`.
        stored: `row_key, stored_position, live, stored_image`, at most one row for each key.
        barrier: Position of the newest truncate that is applied already; empty for none.

    Returns:
        The rows with `verdict, live, stored_position, stored_image`.
    """
    joined = rows.join(stored, "row_key", "left")
    threshold = F.greatest(F.coalesce("stored_position", F.lit("")), F.lit(barrier))
    same_event = Window.partitionBy("row_key", "position", "op").orderBy("offset")
    verdict = (
        F.when(F.size("bad") > 0, QUARANTINED)
        .when(F.col("redelivered") | (F.col("position") <= threshold), SUPERSEDED)
        .when(F.row_number().over(same_event) > 1, SUPERSEDED)
        .otherwise(NEW)
    )
    return joined.withColumn("verdict", verdict).withColumn(
        "live", F.coalesce("live", F.lit(False))
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
    last = F.max_by(
        F.struct(
            "key",
            "op",
            "position",
            "topic",
            "partition",
            "offset",
            "source_ts_ms",
            "image",
            "unavailable",
            "live",
            F.col("stored_position").isNotNull().alias("stored"),
        ),
        F.struct(*_ORDER),
    )
    folded = judged.where(F.col("verdict") == NEW).groupBy("row_key").agg(last.alias("e"))
    flat = folded.select("row_key", "e.*")
    return flat.select(
        *(name for name in flat.columns if name != "stored"),
        (F.col("stored") & ~F.col("live")).alias("marked"),
        _is_kept(truncate).alias("kept"),
    )


def _is_kept(truncate: str) -> Column:
    row = F.col("op") != DELETE
    return row & (F.col("position") > truncate) if truncate else row
