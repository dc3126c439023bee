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

# What `load_marks` reads of envelopes.
MARKED = ("role", "value_null", "offset", "landed_at", "transaction", "payload")
_IS_END = f"status = {literal(END)}"
_IS_BEGIN = f"status = {literal(BEGIN)}"
# A number: rows with text that is aggregated are sorted, all events of the batch among them.
_COUNTS = f"if({_IS_END}, xxhash64(to_json(struct(event_count, array_sort(collections)))), NULL)"
_SUM = (
    "aggregate(collections, 0L, (sum, c) -> sum + coalesce(try_cast(c.event_count AS bigint), 0))"
)


def load_marks(envelopes: DataFrame) -> DataFrame:
    """BEGIN and END of a batch, with the transaction id as events carry it."""
    kind = literal("array<struct<data_collection:string,event_count:string>>")
    marks = envelopes.where(
        (F.col("role") == str(TopicRole.TRANSACTION)) & ~F.col("value_null")
    ).select(
        "offset",
        "landed_at",
        "transaction",
        F.expr("try_variant_get(payload, '$.status', 'string')").alias("status"),
        F.expr("try_variant_get(payload, '$.ts_ms', 'bigint')").alias("ts_ms"),
        F.expr(f"try_variant_get(payload, '$.data_collections', {kind})").alias("collections"),
        F.expr("try_variant_get(payload, '$.event_count', 'string')").alias("event_count"),
    )
    # What cannot be read is no BEGIN: nothing could ever end it.
    known = f"status IN ({literal(BEGIN)}, {literal(END)})"
    return marks.where(f"transaction IS NOT NULL AND {known}")


def said(marks: DataFrame) -> DataFrame:
    """What each mark says of its transaction, but for the data collections that an END counts.

    Args:
        marks: What `load_marks` gave.

    Returns:
        `transaction, order, began_ms, end, ended_at, marks`, and what is judged of them: `begin`
        and `first_end` (offsets), `least_counts` and `most_counts` (which differ where ENDs
        contradict each other), `miscounted` (whether an END contradicts itself).
    """
    return marks.selectExpr(
        "transaction",
        "offset AS order",
        "ts_ms AS began_ms",
        f"if({_IS_END}, offset, NULL) AS `end`",
        f"if({_IS_END}, landed_at, NULL) AS ended_at",
        "1L AS marks",
        f"if({_IS_BEGIN}, offset, NULL) AS begin",
        f"if({_IS_END}, offset, NULL) AS first_end",
        f"{_COUNTS} AS least_counts",
        f"{_COUNTS} AS most_counts",
        f"{_IS_END} AND event_count <> coalesce({_SUM}, 0) AS miscounted",
    )


def listed_collections(marks: DataFrame) -> DataFrame:
    """How many events of which data collection END counts: `transaction, collection, expected`.

    `listed` is true: of a collection whose events landed it may be false.
    """
    return (
        marks.where(_IS_END)
        .selectExpr("transaction", "explode(collections) AS c")
        .selectExpr(
            "transaction",
            "c.data_collection AS collection",
            "try_cast(c.event_count AS bigint) AS expected",
            "true AS listed",
        )
    )


def begun(earlier: DataFrame, ends: DataFrame) -> int:
    """How many of some transactions have their BEGIN in earlier envelopes.

    Args:
        earlier: What came before the batch in the transaction metadata topic.
        ends: The transactions, as `transaction`.
    """
    begins = load_marks(earlier).where(_IS_BEGIN)
    return begins.join(F.broadcast(ends), "transaction").select("transaction").distinct().count()


def ingested(collections: Iterable[str], source: SourceConfig) -> dict[str, str]:
    """The data collections of these whose topics a source lands, with the topic."""
    other = re.compile(CONNECTORS[source.connector].other_collections or r"(?!)")
    names = (name for name in collections if not other.fullmatch(name))
    topics = {name: sanitised_topic(f"{source.topic_prefix}.{name}") for name in names}
    return {n: t for n, t in topics.items() if topic_role(source, t) is TopicRole.DATA}
