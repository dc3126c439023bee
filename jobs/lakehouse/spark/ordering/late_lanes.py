"""Where logs that are known begin in topic partitions that had shown nothing of them.

In: the lanes of a batch, the logs of the source, all events before the batch. Out: the logs, with
the first offsets that the late topic partitions show. When a log was found, what such a topic
partition would bring next was taken for the new log's; it may bring the end of older logs first.
There each fall of the position begins the next of them, and GTIDs that newer logs know tell which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.plan.epochs import Epoch, Fall, Top, starts_by_falls
from lakehouse.plan.progress import Progress
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.ordering.lanes import IS_STREAMED, top_of
from lakehouse.spark.parsing.epochs import HAS_GTID, number_of_log, without_log
from lakehouse.spark.sql import any_of, in_partition

_IN_ORDER = "OVER (PARTITION BY topic, partition ORDER BY at)"
_FALLS = f"coalesce(bare < coalesce(lag(bare) {_IN_ORDER}, {without_log('top.position')}), false)"
# An event's log is no newer than that of any event behind it.
_AT_MOST = f"min(newest) {_IN_ORDER[:-1]} ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"
_COUNT = "count(*) OVER (PARTITION BY topic, partition)"


def late_places(
    epochs: Sequence[Epoch], progress: Progress, landed: LandedOffsets
) -> dict[TopicPartition, int]:
    """The topic partitions that have new messages, none of which was of the newest log before.

    Args:
        epochs: The logs that the source has had.
        progress: What is applied.
        landed: How far bronze goes.

    Returns:
        Topic partition → the number, from 1, of the first log that it has shown nothing of. Empty
        where a person has confirmed a log: the time of a message tells that one.
    """
    if not epochs or any(epoch.confirmed_ms is not None for epoch in epochs):
        return {}
    found = {}
    for topic, entry in landed.topics.items():
        for number, end in entry.next_offsets.items():
            place, begin = (topic, number), progress.next_offset(topic, number)
            late = [n for n, e in enumerate(epochs, 1) if e.starts.get(place, 0) >= begin]
            if late and end > begin:
                found[place] = late[0]
    return found


def with_late_starts(
    epochs: tuple[Epoch, ...],
    late: Mapping[TopicPartition, int],
    lanes: DataFrame,
    tops: Mapping[TopicPartition, Top],
    history: Callable[[], DataFrame],
) -> tuple[Epoch, ...]:
    """The logs, with the offsets at which they begin in late topic partitions.

    Args:
        epochs: The logs that the source has had.
        late: From `late_places`; at least one.
        lanes: The streamed events of the batch, from `lanes.in_lanes`.
        tops: The newest streamed event of each topic partition before the batch.
        history: Gives the envelopes before the batch; called only where a position falls.
    """
    is_late = any_of(map(in_partition, sorted(late)))
    events = lanes.where(f"({is_late}) AND streams AND {HAS_GTID}")
    place = ("topic", "partition")
    events = events.selectExpr(*place, "offset AS at", "position", "gtid", f"{top_of(tops)} AS top")
    if not _falls(events, epochs, late):
        return epochs
    seen = history().where(f"({is_late}) AND {IS_STREAMED} AND {HAS_GTID}")
    told = [*place, "gtid"]
    fresh = events.join(seen.select(*told).distinct(), told, "left_anti")
    for late_place, falls in _falls(fresh, epochs, late).items():
        starts = starts_by_falls(falls, late[late_place], len(epochs))
        epochs = tuple(
            replace(epoch, starts={**epoch.starts, late_place: starts[number]})
            if number in starts
            else epoch
            for number, epoch in enumerate(epochs, 1)
        )
    return epochs


def _falls(
    events: DataFrame, epochs: Sequence[Epoch], late: Mapping[TopicPartition, int]
) -> dict[TopicPartition, list[Fall]]:
    """The falls in each topic partition, in order; no more than logs can explain are collected.

    The log begins behind what was streamed before: an incremental snapshot may read in between.
    """
    firsts = events.groupBy("topic", "partition", "gtid").agg(
        F.min("at").alias("at"),
        F.max("at").alias("last"),
        F.expr(f"min_by({without_log('position')}, at) AS bare"),
        F.min_by("top", "at").alias("top"),
    )
    told = firsts.withColumn("newest", F.expr(number_of_log(epochs, "gtid")))
    placed = told.selectExpr(
        "*", f"{_FALLS} AS falls", f"{_AT_MOST} AS at_most", f"lag(last) {_IN_ORDER} AS before"
    )
    few = placed.where("falls").selectExpr("*", f"{_COUNT} AS count")
    rows = few.where(f"count <= {len(epochs)}").orderBy("topic", "partition", "at").collect()
    found: dict[TopicPartition, list[Fall]] = {}
    for row in rows:
        place, before = (row["topic"], row["partition"]), row["before"]
        behind = epochs[late[place] - 1].starts.get(place, 0) if before is None else before + 1
        fall = Fall(min(row["at"], behind), row["at_most"])
        found.setdefault(place, []).append(fall)
    return found
