"""Whole transactions: up to where a batch may be applied.

In: the envelopes of a batch. Out: for each topic partition the first offset that is not applied,
so that what is applied is a prefix of whole source transactions (`design.md` §3, Transactions).
The BEGIN's offset in the transaction metadata topic is a transaction's place in commit order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Row

from lakehouse.config import SourceConfig, TopicRole, topic_role
from lakehouse.connectors import Connector
from lakehouse.envelope import BEGIN, END
from lakehouse.names import sanitised_topic
from lakehouse.spark.sql import literal

_FINDINGS_SHOWN = 20
_IS_EVENT = "transaction IS NOT NULL AND reason IS NULL AND NOT control"


@dataclass(frozen=True, slots=True)
class TransactionCut:
    """Where a batch ends.

    Attributes:
        ends: (topic, topic partition) → first offset that waits; absent where nothing waits.
        complete: How many whole transactions of the batch are before it.
        waiting: How many are not.
        findings: Transactions that are applied although their counts never matched.
    """

    ends: Mapping[tuple[str, int], int] = field(default_factory=dict)
    complete: int = 0
    waiting: int = 0
    findings: tuple[str, ...] = ()


def cut_transactions(
    envelopes: DataFrame,
    source: SourceConfig,
    connector: Connector,
    applied_position: str,
    stream_time_ms: int,
    earlier: Callable[[], DataFrame],
) -> TransactionCut:
    """Find the first transaction that is not whole, and what stands behind it.

    Args:
        envelopes: The batch, with positions.
        source: Its transaction topic and timeout.
        connector: How transaction ids compare.
        applied_position: Highest position of the newest cut; events up to it are redeliveries.
        stream_time_ms: The source's clock, in milliseconds since the epoch.
        earlier: The envelopes before the batch; asked only when events seem to be missing, since
            a restarted connector may send the last events of a transaction alone, and its END.
    """
    marks = _marks(envelopes, connector).cache()
    try:
        events = _events(envelopes)
        fresh = envelopes.where(f"{_IS_EVENT} AND {_is_fresh(applied_position)}")
        judge = partial(_states, marks, fresh, _ingested(marks, source), stream_time_ms, source)
        states = judge(events).cache()
        summary = _summary(states)
        if summary["short"]:
            short = F.broadcast(states.where("short").select("transaction"))
            landed = _events(earlier()).join(short, "transaction", "left_semi")
            states = judge(events.unionByName(landed)).cache()
            summary = _summary(states)
        first = summary["first"]
        ends = _ends(fresh, states, first)
        if first is not None and source.kafka.transactions is not None:
            ends[(source.kafka.transactions, 0)] = int(first)
        odd = states.where("whole and odd is not null").limit(_FINDINGS_SHOWN).collect()
        return TransactionCut(
            ends,
            int(summary["whole"]),
            int(summary["waiting"]),
            tuple(f"transaction {row['transaction']}: {row['odd']}" for row in odd),
        )
    finally:
        marks.unpersist()


def _marks(envelopes: DataFrame, connector: Connector) -> DataFrame:
    """BEGIN and END of the batch, with the transaction id as events carry it."""
    kind = "array<struct<data_collection:string,event_count:string>>"
    payload = envelopes.where(
        (F.col("role") == str(TopicRole.TRANSACTION)) & ~F.col("value_null")
    ).select(
        "offset",
        F.expr("try_variant_get(payload, '$.status', 'string')").alias("status"),
        F.expr("try_variant_get(payload, '$.id', 'string')").alias("id"),
        F.expr("try_variant_get(payload, '$.ts_ms', 'bigint')").alias("ts_ms"),
        F.expr(f"try_variant_get(payload, '$.data_collections', '{kind}')").alias("collections"),
    )
    separator = connector.transaction_separator
    identity = F.substring_index("id", separator, 1) if separator else F.col("id")
    marks = payload.withColumn("transaction", identity)
    # What cannot be read is no BEGIN: nothing could ever end it.
    return marks.where(f"transaction IS NOT NULL AND status IN ({literal(BEGIN)}, {literal(END)})")


def _summary(states: DataFrame) -> Row:
    counted = states.agg(
        F.min(F.when(~F.col("whole"), F.col("order"))).alias("first"),
        F.count_if(F.col("whole")).alias("whole"),
        F.count_if(~F.col("whole")).alias("waiting"),
        F.count_if(F.col("short")).alias("short"),
    )
    return counted.collect()[0]


def _events(envelopes: DataFrame) -> DataFrame:
    """What tells the change events of transactions apart."""
    return envelopes.where(_IS_EVENT).select("transaction", "collection", "total_order")


def _is_fresh(applied_position: str) -> str:
    """Whether an event is not applied yet."""
    return f"NOT redelivered AND position > {literal(applied_position)}"


def _ingested(marks: DataFrame, source: SourceConfig) -> list[str]:
    """The data collections named by END whose topics this source lands."""
    rows = marks.select(F.explode("collections.data_collection").alias("name")).distinct().collect()
    return [
        row["name"]
        for row in rows
        if topic_role(source, sanitised_topic(f"{source.topic_prefix}.{row['name']}"))
        is TopicRole.DATA
    ]


def _states(
    marks: DataFrame,
    fresh: DataFrame,
    ingested: list[str],
    stream_time_ms: int,
    source: SourceConfig,
    events: DataFrame,
) -> DataFrame:
    """Each transaction of the batch: `transaction, order, whole, odd, short`.

    Args:
        marks: BEGIN and END.
        fresh: Events that are not applied yet: later ones tell that missing ones never come.
        ingested: Data collections that this source lands.
        stream_time_ms: The source's clock.
        source: Its timeout.
        events: What has landed of the transactions, also earlier and repeatedly.
    """
    known = marks.groupBy("transaction").agg(
        F.min("offset").alias("order"),
        F.min("ts_ms").alias("began_ms"),
        F.max(F.when(F.col("status") == END, F.col("offset"))).alias("end"),
    )
    last_begin = marks.agg(F.max(F.when(F.col("status") == BEGIN, F.col("offset"))).alias("last"))
    ordered = fresh.join(known.select("transaction", "order"), "transaction", "left")
    landed = events.groupBy("transaction", "collection").agg(
        F.countDistinct("total_order").alias("landed")
    )
    newest = ordered.groupBy("collection").agg(
        F.max(F.coalesce("order", F.lit(2**62))).alias("newest")
    )
    expected = (
        marks.where(F.col("status") == END)
        .select("transaction", F.explode("collections").alias("c"))
        .select(
            "transaction",
            F.col("c.data_collection").alias("collection"),
            F.col("c.event_count").try_cast("bigint").alias("expected"),
        )
        .where(F.col("collection").isin(ingested))
        .distinct()
    )
    short = (
        expected.join(landed, ["transaction", "collection"], "left")
        .join(newest, "collection", "left")
        .join(known.select("transaction", "order"), "transaction", "inner")
        .where(F.coalesce("landed", F.lit(0)) < F.col("expected"))
        .groupBy("transaction")
        .agg(F.min(F.coalesce(F.col("newest") > F.col("order"), F.lit(False))).alias("overtaken"))
    )
    late = F.col("began_ms") + int(source.transactions.timeout.total_seconds() * 1000)
    odd = (
        F.when(F.col("end").isNull() & (F.col("last") > F.col("order")), "END was lost")
        .when(F.col("overtaken"), "fewer events landed than END counts, and later ones did")
        .when(
            (F.col("end").isNull() | F.col("overtaken").isNotNull()) & (late < stream_time_ms),
            "not whole after the timeout",
        )
    )
    whole = F.col("end").isNotNull() & F.col("overtaken").isNull()
    return (
        known.join(short, "transaction", "left")
        .crossJoin(last_begin)
        .select(
            "transaction",
            "order",
            odd.alias("odd"),
            (whole | odd.isNotNull()).alias("whole"),
            F.col("overtaken").isNotNull().alias("short"),
        )
    )


def _ends(events: DataFrame, states: DataFrame, first: int | None) -> dict[tuple[str, int], int]:
    """First offset in each topic partition of a transaction that is not whole, or behind one."""
    ordered = events.join(states.select("transaction", "order"), "transaction", "left")
    waits = F.col("order").isNull()
    if first is not None:
        waits = waits | (F.col("order") >= first)
    rows = ordered.where(waits).groupBy("topic", "partition").agg(F.min("offset").alias("end"))
    return {(row["topic"], row["partition"]): row["end"] for row in rows.collect()}
