"""Doubts: transactions of which events seem to be missing, looked at again.

In: the envelopes of a batch, the landed offsets, how to read what came before. Out: what a second
look at the batch's transactions needs: events that landed earlier, and what stands behind a missing
one. `design.md` §3 asks for proof, for topic partitions lag behind each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.config import TopicRole
from lakehouse.envelope import ERASED
from lakehouse.plan.offsets import LandedOffsets
from lakehouse.spark.sql import literal

# An event whose BEGIN is not landed, or a message that cannot be read, may be the newest of all.
_NEWEST = 2**62
# A transaction's END counts what was erased since.
IS_EVENT = (
    "transaction IS NOT NULL AND reason IS NULL "
    f"AND (NOT control OR op <=> {literal(ERASED)} AND role = {literal(TopicRole.DATA)})"
)
IS_UNREADABLE = f"role = {literal(TopicRole.DATA)} AND reason IS NOT NULL AND NOT control"


@dataclass(frozen=True, slots=True)
class Doubts:
    """What a second look knows.

    Attributes:
        events: `transaction, collection, total_order` of events that landed before the batch.
        behind: Data collection → place in commit order of what stands behind, in every topic
            partition and in any.
        newest_landing_us: When the newest messages of the batch were landed, in microseconds since
            the epoch.
    """

    events: DataFrame
    behind: Mapping[str, tuple[int, int]]
    newest_landing_us: int


def look_again(
    envelopes: DataFrame,
    fresh: DataFrame,
    marks: DataFrame,
    earlier: DataFrame,
    landed: LandedOffsets,
    topics: Mapping[str, str],
) -> Doubts:
    """Gather what a second look needs; it reads what came before the batch.

    Args:
        envelopes: The batch, with positions.
        fresh: Its change events of transactions that are not applied yet.
        marks: BEGIN and END of the batch.
        earlier: The envelopes before the batch.
        landed: How far bronze goes.
        topics: Data collection → its topic.
    """
    newest = envelopes.agg(F.expr("unix_micros(max(landed_at)) AS at")).collect()[0]["at"]
    ids = F.broadcast(marks.select("transaction").distinct())
    events = earlier.where(IS_EVENT).join(ids, "transaction", "left_semi")
    return Doubts(
        events.select("transaction", "collection", "total_order"),
        _behind(envelopes, fresh, marks, landed, topics),
        newest,
    )


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
