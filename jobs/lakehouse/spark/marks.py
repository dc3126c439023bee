"""Marks: the BEGIN and END of transactions, and what an END counts.

In: the envelopes of a batch. Out: where each transaction begins and ends, and how many events of
which data collection it has. The BEGIN's offset in the transaction metadata topic is a
transaction's place in commit order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.config import SourceConfig, TopicRole, topic_role
from lakehouse.connectors import CONNECTORS
from lakehouse.envelope import BEGIN, END
from lakehouse.names import sanitised_topic
from lakehouse.spark.sql import literal

_IS_END = f"status = {literal(END)}"
_IS_BEGIN = f"status = {literal(BEGIN)}"
_COUNTS = f"if({_IS_END}, to_json(struct(event_count, array_sort(collections))), NULL)"
_SUM = (
    "aggregate(collections, 0L, (sum, c) -> sum + coalesce(try_cast(c.event_count AS bigint), 0))"
)


def load_marks(envelopes: DataFrame) -> DataFrame:
    """BEGIN and END of a batch, with the transaction id as events carry it."""
    kind = "array<struct<data_collection:string,event_count:string>>"
    marks = envelopes.where(
        (F.col("role") == str(TopicRole.TRANSACTION)) & ~F.col("value_null")
    ).select(
        "offset",
        "landed_at",
        "transaction",
        F.expr("try_variant_get(payload, '$.status', 'string')").alias("status"),
        F.expr("try_variant_get(payload, '$.ts_ms', 'bigint')").alias("ts_ms"),
        F.expr(f"try_variant_get(payload, '$.data_collections', '{kind}')").alias("collections"),
        F.expr("try_variant_get(payload, '$.event_count', 'string')").alias("event_count"),
    )
    # What cannot be read is no BEGIN: nothing could ever end it.
    known = f"status IN ({literal(BEGIN)}, {literal(END)})"
    return marks.where(f"transaction IS NOT NULL AND {known}")


def bounds(marks: DataFrame, fresh: DataFrame) -> DataFrame:
    """Each transaction once.

    Args:
        marks: What `load_marks` gave.
        fresh: Events that are not applied yet, with their `transaction`.

    Returns:
        `transaction, order, began_ms, end, ended_at, newest`, and what its marks say: `marks` (how
        many), `begin` and `first_end` (offsets), `differing` and `miscounted` (whether ENDs
        contradict each other, or themselves). `newest` is the place of the last transaction that
        has fresh events. One before it without END lost it; a BEGIN alone tells nothing, since a
        connector that starts again may send it again.
    """
    known = marks.groupBy("transaction").agg(
        F.min("offset").alias("order"),
        F.min("ts_ms").alias("began_ms"),
        F.max(F.expr(f"if({_IS_END}, offset, NULL)")).alias("end"),
        F.min(F.expr(f"if({_IS_END}, landed_at, NULL)")).alias("ended_at"),
        F.count("*").alias("marks"),
        F.min(F.expr(f"if({_IS_BEGIN}, offset, NULL)")).alias("begin"),
        F.min(F.expr(f"if({_IS_END}, offset, NULL)")).alias("first_end"),
        F.expr(f"min({_COUNTS}) <> max({_COUNTS})").alias("differing"),
        F.max(F.expr(f"{_IS_END} AND event_count <> coalesce({_SUM}, 0)")).alias("miscounted"),
    )
    with_events = known.join(fresh.select("transaction").distinct(), "transaction", "left_semi")
    return known.crossJoin(with_events.agg(F.max("order").alias("newest")))


def begun(earlier: DataFrame, topic: str, ends: DataFrame) -> int:
    """How many of some transactions have their BEGIN in earlier envelopes.

    Args:
        earlier: What came before the batch.
        topic: The transaction metadata topic.
        ends: The transactions, as `transaction`.
    """
    begins = load_marks(earlier.where(F.col("topic") == topic)).where(_IS_BEGIN)
    return begins.join(F.broadcast(ends), "transaction").select("transaction").distinct().count()


def expected_events(marks: DataFrame, collections: Iterable[str]) -> DataFrame:
    """How many events of each data collection END counts: `transaction, collection, expected`."""
    return (
        marks.where(_IS_END)
        .select("transaction", F.explode("collections").alias("c"))
        .select(
            "transaction",
            F.col("c.data_collection").alias("collection"),
            F.col("c.event_count").try_cast("bigint").alias("expected"),
        )
        .where(F.col("collection").isin(*collections))
        .distinct()
    )


def ingested(marks: DataFrame, source: SourceConfig) -> dict[str, str]:
    """The data collections named by END whose topics this source lands, with the topic."""
    other = re.compile(CONNECTORS[source.connector].other_collections or r"(?!)")
    rows = marks.select(F.explode("collections.data_collection").alias("name")).distinct().collect()
    topics = {r["name"]: sanitised_topic(f"{source.topic_prefix}.{r['name']}") for r in rows}
    topics = {name: topic for name, topic in topics.items() if not other.fullmatch(name)}
    return {n: t for n, t in topics.items() if topic_role(source, t) is TopicRole.DATA}
