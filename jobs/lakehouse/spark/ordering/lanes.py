"""Lanes: the events of a batch in the order of the source's log, and what stands above them.

In: envelopes, and what is known before the batch. Out: each streamed event with its place in its
lane and the lane's top, the newest event before it. All events of transactions whose BEGIN is in
the batch are one lane, in commit order; any other event is in the lane of its topic partition, in
which offsets are log order.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.config import SourceConfig, TopicRole, topic_role
from lakehouse.envelope import INCREMENTAL, READ
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.plan.epochs import Top
from lakehouse.spark.ordering.since import Since
from lakehouse.spark.sql import in_partition, literal
from lakehouse.spark.transactions.marks import load_marks

SOURCE: TopicPartition = ("", 0)
"""The lane of the whole source; no topic has this name."""
IS_DATA_EVENT = f"role = {literal(TopicRole.DATA)} AND reason IS NULL AND NOT control"
_IS_READ = f"op <=> {literal(READ)}"
_IS_DDL = f"role = {literal(TopicRole.SCHEMA_CHANGE)} AND snapshot = 'false'"
IS_STREAMED = f"position IS NOT NULL AND (({IS_DATA_EVENT}) OR ({_IS_DDL})) AND NOT ({_IS_READ})"
IS_INCREMENT = f"{IS_DATA_EVENT} AND {_IS_READ} AND snapshot = {literal(INCREMENTAL)}"
_IS_SNAPSHOT = f"{IS_DATA_EVENT} AND {_IS_READ} AND snapshot != {literal(INCREMENTAL)}"
_PLACE = ("topic", "partition", "offset", "position")
_OWN_LANE = "struct(topic, partition)"
SOURCE_LANE = f"struct({literal(SOURCE[0])} AS topic, {SOURCE[1]} AS partition)"
EACH_LANE = f"explode(array({_OWN_LANE}, {SOURCE_LANE}))"
"""The lanes that an event from before the batch may be in."""
IN_EACH_LANE = f"inline(array(struct(lane, at), struct({_OWN_LANE} AS lane, offset AS at)))"
"""`lane, at` of an event, and again in its topic partition, where it stands in commit order."""
# In commit order an event that comes again, maybe from another server, has its first place.
_COMES_AGAIN = (
    "row_number() OVER (PARTITION BY coalesce(gtid, transaction), topic, partition, total_order "
    "ORDER BY offset) > 1"
)
_NEWEST = "max(if(streams, struct(position, gtid), NULL))"
# An event whose BEGIN is missing stands behind all of its topic partition, be they in commit order.
_TOP = (
    f"if(lane = {SOURCE_LANE}, {_NEWEST} OVER (PARTITION BY lane ORDER BY at "
    f"RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), {_NEWEST} OVER (PARTITION BY topic, "
    "partition ORDER BY offset ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))"
)
_READ = (
    "max(if(reads, position, NULL)) OVER (PARTITION BY topic, partition ORDER BY offset "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
)


def in_lanes(envelopes: DataFrame, source: SourceConfig, since: Since) -> DataFrame:
    """The streamed events of a batch, and of each snapshot its first event at a position.

    Args:
        envelopes: The batch.
        source: Says whether transactions are whole, so that their order is the source's.
        since: Has the tops before the batch.

    Returns:
        `topic, partition, offset, position, gtid, lane, at, streams, awaits, increments, reads,
        read, top`; `at` is the place in the lane, `streams` says which events make its top,
        `awaits` is the transaction of one whose BEGIN is not in the batch, `increments` says which
        are of an incremental snapshot, `reads` which are of a source snapshot, `read` is the
        highest position that was read before, be it of a snapshot: streaming may go on from below
        it.
    """
    marks = load_marks(envelopes)
    begins = marks.groupBy("transaction").agg(F.min("offset").alias("began"))
    whole = source.transactions.consistent and source.kafka.transactions is not None
    is_ordered = f"began IS NOT NULL AND {IS_DATA_EVENT}" if whole else "false"
    awaits = f"began IS NULL AND {IS_DATA_EVENT}" if whole else "false"
    streamed = envelopes.where(IS_STREAMED).join(begins, "transaction", "left")
    placed = streamed.selectExpr(
        *_PLACE,
        "gtid",
        f"if({is_ordered}, {SOURCE_LANE}, {_OWN_LANE}) AS lane",
        f"if({is_ordered}, began, offset) AS at",
        f"NOT ({is_ordered} AND {_COMES_AGAIN}) AS streams",
        f"if({awaits}, transaction, NULL) AS awaits",
        "false AS increments",
        "false AS reads",
    )
    sources, increments = _firsts(envelopes, _IS_SNAPSHOT), _firsts(envelopes, IS_INCREMENT, "gtid")
    read = sources.selectExpr("*", "false AS increments", "true AS reads").unionByName(
        increments.selectExpr("*", "true AS increments", "false AS reads")
    )
    read = read.selectExpr("*", "CAST(NULL AS string) AS awaits")
    return placed.unionByName(read).selectExpr(
        "*",
        f"greatest({_READ}, {literal(since.position)}) AS read",
        f"greatest({_TOP}, {_carried(source, since)}) AS top",
    )


def _firsts(envelopes: DataFrame, where: str, gtid: str = "CAST(NULL AS string)") -> DataFrame:
    """The first event of a snapshot at each position, in the lane of its topic partition."""
    reads = envelopes.where(where).selectExpr(*_PLACE, f"{gtid} AS gtid")
    firsts = reads.groupBy("topic", "partition", "position", "gtid").agg(
        F.min("offset").alias("offset")
    )
    own = (f"{_OWN_LANE} AS lane", "offset AS at", "false AS streams")
    return firsts.where("position IS NOT NULL").selectExpr(*_PLACE, "gtid", *own)


def _carried(source: SourceConfig, since: Since) -> str:
    """The top of an event's lane before the batch."""
    tops = dict(since.progress.tops)
    data = [top for (t, _), top in tops.items() if topic_role(source, t) is TopicRole.DATA]
    if data:
        tops[SOURCE] = max(data, key=lambda top: top.position)
    return top_of(tops, "lane")


def top_of(tops: Mapping[TopicPartition, Top], struct: str = "") -> str:
    """The top of a message's topic partition, `struct(position, gtid)`, as SQL; NULL for none.

    Args:
        tops: Those that are known.
        struct: The struct that has the message's coordinates; empty for columns.
    """
    cases = " ".join(
        f"WHEN {in_partition(place, struct)} THEN {_struct(top)}" for place, top in tops.items()
    )
    return f"CASE {cases} END" if cases else "CAST(NULL AS struct<position:string,gtid:string>)"


def _struct(top: Top) -> str:
    gtid = "CAST(NULL AS string)" if top.gtid is None else literal(top.gtid)
    return f"named_struct('position', {literal(top.position)}, 'gtid', {gtid})"
