"""Positions that something else has to complete: what was streamed before stands in.

In: envelopes, some of which carry no commit position because they are of the first transaction
after a connector's start (PostgreSQL; `running`) or of a source snapshot behind changes
(`unplaced`). Out: the same rows, each with a position. For a running event the highest number
streamed before it in the topic partition, at least its own, stands in for the commit part; a read
event (`unplaced`) stands where the newest event stands that was streamed before it, and comes after
that.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from lakehouse.connectors import Connector
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.plan.progress import Progress
from lakehouse.spark.ordering.maxima import with_greatest_before
from lakehouse.spark.parsing import positions
from lakehouse.spark.parsing.epochs import log_in
from lakehouse.spark.sql import in_partition, literal

_UNPLACED = "unplaced AND position IS NOT NULL"
_STREAMED = "if(high IS NOT NULL, position, NULL)"


def place(
    envelopes: DataFrame, progress: Progress, connector: Connector, *, reads_behind_changes: bool
) -> DataFrame:
    """Give running and unplaced events their position.

    Args:
        envelopes: The batch, kept: it is read several times.
        progress: Has the highest numbers and the newest events before the batch.
        connector: Its position fields.
        reads_behind_changes: Whether something may be streamed before an unplaced event.
    """
    seen = with_greatest_before(envelopes, "running", "high", "before")
    running = F.concat("log", _running(progress, connector))
    placed = seen.withColumn(
        "position", F.when(F.col("running"), running).otherwise(F.col("position"))
    ).drop("before")
    if not reads_behind_changes:
        return placed
    tops = _carried({p: (log_in(t.position), t.position) for p, t in progress.tops.items()})
    seen = with_greatest_before(placed, _UNPLACED, _STREAMED, "before")
    read = F.greatest("before", tops, "position")
    return seen.withColumn(
        "position", F.when(F.expr(_UNPLACED), read).otherwise(F.col("position"))
    ).drop("before")


def _running(progress: Progress, connector: Connector) -> Column:
    """The position of an event without commit position, in its log."""
    width = connector.position[0].width
    highs = _carried({p: (h.log, f"{h.number:0{width}}") for p, h in progress.highs.items()})
    commit = F.greatest("before", highs, "high")
    return positions.join([commit, F.col("high")])


def _carried(known: Mapping[TopicPartition, tuple[str, str]]) -> Column:
    """What is known of a message's topic partition from before the batch, of the same log.

    Args:
        known: Topic partition → the log, and what is known.
    """
    cases = " ".join(
        f"WHEN {in_partition(place)} AND log = {literal(log)} THEN {literal(text)}"
        for place, (log, text) in known.items()
    )
    return F.expr(f"CASE {cases} END" if cases else "CAST(NULL AS string)")
