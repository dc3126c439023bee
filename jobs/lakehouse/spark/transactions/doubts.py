"""Doubts: transactions of which events seem to be missing, looked at again.

In: the envelopes of a batch, the landed offsets, how to read what came before. Out: events that
landed earlier, and what a second look at the batch's transactions needs: what stands behind a
missing one. `design.md` §3 asks for proof, for topic partitions lag behind each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.config import SourceConfig, TopicRole
from lakehouse.envelope import ERASED
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.once import once
from lakehouse.spark.sql import literal
from lakehouse.spark.transactions.arrivals import arrived_since
from lakehouse.spark.transactions.marks import MARKED, load_marks

# An event whose BEGIN is not landed, or a message that cannot be read, may be the newest of all.
_NEWEST = 2**62
# A transaction's END counts what was erased since.
IS_EVENT = (
    "transaction IS NOT NULL AND reason IS NULL "
    f"AND (NOT control OR op <=> {literal(ERASED)} AND role = {literal(TopicRole.DATA)})"
)
EVENT = ("transaction", "collection", "total_order")
# Expressions over the messages of some topics that arrived before a batch, and at or after a
# timestamp in Kafka.
Earlier = Callable[[Iterable[str], int, Sequence[str]], DataFrame]
IS_UNREADABLE = f"role = {literal(TopicRole.DATA)} AND reason IS NOT NULL AND NOT control"


@dataclass(frozen=True, slots=True)
class Doubts:
    """What a second look knows.

    Attributes:
        behind: Data collection → place in commit order of what stands behind, in every topic
            partition and in any.
        newest_landing_us: When the newest messages of the batch were landed, in microseconds since
            the epoch.
    """

    behind: Mapping[str, tuple[int, int]]
    newest_landing_us: int


def landed_earlier(
    envelopes: DataFrame,
    doubtful: DataFrame,
    earlier: Earlier,
    source: SourceConfig,
    topics: Iterable[str],
) -> DataFrame | None:
    """The events of transactions before a batch; nothing older than these is read.

    One that has no event in the batch has some before it only where it had a mark there, too: most
    often its END has landed first.

    Args:
        envelopes: The batch.
        doubtful: `transaction`, whether an event of it is in the batch (`seen`), and when it began
            at the earliest (`began_ms`).
        earlier: Reads what came before the batch.
        source: Its transaction metadata topic.
        topics: The topics of their data collections.

    Returns:
        `transaction, collection, total_order`; None where there can be none.
    """
    rows = doubtful.agg(F.expr("min(began_ms) AS at"), F.expr("bool_and(seen) AS all_seen"))
    row = rows.collect()[0]
    since = arrived_since(envelopes, row["at"])
    if not row["all_seen"]:
        marks = load_marks(earlier([source.kafka.transactions or ""], since, MARKED))
        marked = marks.select("transaction", F.lit(True).alias("marked")).distinct()
        doubtful = once(doubtful.join(marked, "transaction", "left").where("seen OR marked"))
        if doubtful.isEmpty():
            return None
    told = earlier(topics, since, (*EVENT, f"{IS_EVENT} AS is_event")).where("is_event")
    return told.join(F.broadcast(doubtful), "transaction", "left_semi").select(*EVENT)


def look_again(
    envelopes: DataFrame,
    fresh: DataFrame,
    marks: DataFrame,
    landed: LandedOffsets,
    topics: Mapping[str, str],
    lost: Collection[str],
) -> Doubts:
    """Gather what a second look needs.

    Args:
        envelopes: The batch, with positions.
        fresh: Its change events of transactions that are not applied yet.
        marks: BEGIN and END of the batch.
        landed: How far bronze goes.
        topics: Data collection → its topic.
        lost: Topics of which offsets were lost that the transactions may have had.
    """
    newest = envelopes.agg(F.expr("unix_micros(max(landed_at)) AS at")).collect()[0]["at"]
    behind = _behind(envelopes, fresh, marks, landed, topics)
    for collection, topic in topics.items():
        if topic in lost:
            # Anything may have stood there.
            behind[collection] = (behind[collection][0], _NEWEST)
    return Doubts(behind, newest)


def _behind(
    envelopes: DataFrame,
    fresh: DataFrame,
    marks: DataFrame,
    landed: LandedOffsets,
    topics: Mapping[str, str],
) -> dict[str, tuple[int, int]]:
    orders = marks.groupBy("transaction").agg(F.min("offset").alias("order"))
    places = fresh.join(orders, "transaction", "left").select(
        "topic", "partition", F.coalesce("order", F.lit(_NEWEST)).alias("order")
    )
    unreadable = envelopes.where(IS_UNREADABLE).select(
        "topic", "partition", F.lit(_NEWEST).alias("order")
    )
    rows = places.unionByName(unreadable).groupBy("topic", "partition").agg(F.max("order"))
    newest = {(topic, number): int(order) for topic, number, order in rows.collect()}
    return newest_behind(newest, landed, topics)


def newest_behind(
    newest: Mapping[tuple[str, int], int], landed: LandedOffsets, topics: Mapping[str, str]
) -> dict[str, tuple[int, int]]:
    """The lowest and the highest of a topic's partitions, for each data collection.

    Args:
        newest: Topic partition → place in commit order of its newest message; absent for none.
        landed: Says which topic partitions there are.
        topics: Data collection → its topic.
    """
    found = {}
    for collection, topic in topics.items():
        progress = landed.topics.get(topic)
        numbers = [newest.get((topic, n), -1) for n in (progress.next_offsets if progress else ())]
        found[collection] = (min(numbers, default=-1), max(numbers, default=-1))
    return found
