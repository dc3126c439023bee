"""Whole transactions: up to where a batch may be applied.

In: the envelopes of a batch. Out: for each topic partition the first offset that is not applied,
so that what is applied is a prefix of whole source transactions (`design.md` §3, Transactions).
The BEGIN's offset in the transaction metadata topic is a transaction's place in commit order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.config import SourceConfig, TopicRole, topic_role
from lakehouse.connectors import Connector
from lakehouse.envelope import BEGIN, END
from lakehouse.names import sanitised_topic

_FINDINGS_SHOWN = 20


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
) -> TransactionCut:
    """Find the first transaction that is not whole, and what stands behind it.

    Args:
        envelopes: The batch, with positions.
        source: Its transaction topic and timeout.
        connector: How transaction ids compare.
        applied_position: Highest position of the newest cut; events up to it are redeliveries.
        stream_time_ms: The source's clock, in milliseconds since the epoch.
    """
    marks = _marks(envelopes, connector).cache()
    try:
        events = _events(envelopes, applied_position)
        states = _states(marks, events, _ingested(marks, source), stream_time_ms, source).cache()
        summary = states.agg(
            F.min(F.when(~F.col("whole"), F.col("order"))).alias("first"),
            F.count(F.when(F.col("whole"), 1)).alias("whole"),
            F.count(F.when(~F.col("whole"), 1)).alias("waiting"),
        ).first()
        first = summary["first"] if summary else None
        ends = _ends(events, states, first)
        if first is not None and source.kafka.transactions is not None:
            ends[(source.kafka.transactions, 0)] = int(first)
        odd = states.where("whole and odd is not null").limit(_FINDINGS_SHOWN).collect()
        return TransactionCut(
            ends,
            int(summary["whole"]) if summary else 0,
            int(summary["waiting"]) if summary else 0,
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
    return payload.withColumn("transaction", identity)


def _events(envelopes: DataFrame, applied_position: str) -> DataFrame:
    """Change events of transactions that are not applied yet."""
    fresh = (F.col("position") > applied_position) if applied_position else F.lit(True)
    return envelopes.where(
        F.col("transaction").isNotNull()
        & F.col("reason").isNull()
        & ~F.col("control")
        & ~F.col("redelivered")
        & fresh
    ).select("topic", "partition", "offset", "transaction", "collection", "total_order")


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
    events: DataFrame,
    ingested: list[str],
    stream_time_ms: int,
    source: SourceConfig,
) -> DataFrame:
    """Each transaction of the batch: `transaction, order, whole, odd`."""
    known = marks.groupBy("transaction").agg(
        F.min("offset").alias("order"),
        F.min("ts_ms").alias("began_ms"),
        F.max(F.when(F.col("status") == END, F.col("offset"))).alias("end"),
    )
    last_begin = marks.agg(F.max(F.when(F.col("status") == BEGIN, F.col("offset"))).alias("last"))
    ordered = events.join(known.select("transaction", "order"), "transaction", "left")
    landed = ordered.groupBy("transaction", "collection").agg(
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
        .select("transaction", "order", odd.alias("odd"), (whole | odd.isNotNull()).alias("whole"))
    )


def _ends(events: DataFrame, states: DataFrame, first: int | None) -> dict[tuple[str, int], int]:
    """First offset in each topic partition of a transaction that is not whole, or behind one."""
    ordered = events.join(states.select("transaction", "order"), "transaction", "left")
    waits = F.col("order").isNull()
    if first is not None:
        waits = waits | (F.col("order") >= first)
    rows = ordered.where(waits).groupBy("topic", "partition").agg(F.min("offset").alias("end"))
    return {(row["topic"], row["partition"]): row["end"] for row in rows.collect()}
