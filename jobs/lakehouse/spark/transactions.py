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
from pyspark.sql import Column, DataFrame, Row

from lakehouse.config import SourceConfig, TopicRole, topic_role
from lakehouse.connectors import Connector
from lakehouse.envelope import BEGIN, END
from lakehouse.names import sanitised_topic
from lakehouse.plan.offsets import LandedOffsets
from lakehouse.spark.doubts import IS_EVENT, Doubts, look_again
from lakehouse.spark.positions import SEPARATOR
from lakehouse.spark.sql import literal

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


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What lies around a batch.

    Attributes:
        applied_position: Highest position of the newest cut; events below it are redeliveries.
        stream_time_ms: The source's clock, in milliseconds since the epoch.
        landed: How far bronze goes.
        earlier: The envelopes before the batch; asked only when events or an END seem to be
            missing, since a restarted connector may send the last events of a transaction alone.
    """

    applied_position: str
    stream_time_ms: int
    landed: LandedOffsets
    earlier: Callable[[], DataFrame]


def cut_transactions(
    envelopes: DataFrame,
    source: SourceConfig,
    connector: Connector,
    around: Surroundings,
) -> TransactionCut:
    """Find the first transaction that is not whole, and what stands behind it.

    Args:
        envelopes: The batch, with positions.
        source: Its transaction topic and timeout.
        connector: How transaction ids compare.
        around: What lies around the batch.
    """
    marks = _marks(envelopes, connector).cache()
    try:
        fresh = envelopes.where(f"{IS_EVENT} AND {_is_fresh(around.applied_position, connector)}")
        topics = _ingested(marks, source)
        judge = partial(_states, marks, list(topics), around.stream_time_ms, source)
        states = judge(_events(envelopes), None).cache()
        summary = _summary(states)
        if summary["doubtful"]:
            before = around.earlier()
            both = marks, _marks(before, connector)
            doubts = look_again(envelopes, fresh, both, before, around.landed, topics)
            states = judge(_events(envelopes).unionByName(doubts.events), doubts).cache()
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
        "landed_at",
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
        F.count_if(F.col("doubtful")).alias("doubtful"),
    )
    return counted.collect()[0]


def _events(envelopes: DataFrame) -> DataFrame:
    """What tells the change events of transactions apart."""
    return envelopes.where(IS_EVENT).select("transaction", "collection", "total_order")


def _is_fresh(applied_position: str, connector: Connector) -> str:
    """Whether an event is not applied yet.

    Transactions may share a commit position, and one that a number stands in for says little.
    """
    commit = SEPARATOR.join(applied_position.split(SEPARATOR)[: connector.commit_fields])
    return f"NOT redelivered AND (running OR position >= {literal(commit)})"


def _ingested(marks: DataFrame, source: SourceConfig) -> dict[str, str]:
    """The data collections named by END whose topics this source lands, with the topic."""
    rows = marks.select(F.explode("collections.data_collection").alias("name")).distinct().collect()
    topics = {r["name"]: sanitised_topic(f"{source.topic_prefix}.{r['name']}") for r in rows}
    return {n: t for n, t in topics.items() if topic_role(source, t) is TopicRole.DATA}


def _states(
    marks: DataFrame,
    ingested: list[str],
    stream_time_ms: int,
    source: SourceConfig,
    events: DataFrame,
    doubts: Doubts | None,
) -> DataFrame:
    """Each transaction of the batch: `transaction, order, whole, odd, doubtful`.

    Args:
        marks: BEGIN and END.
        ingested: Data collections that this source lands.
        stream_time_ms: The source's clock.
        source: Its timeout.
        events: What has landed of the transactions, at a second look also earlier.
        doubts: What the second look knows; None at the first one.
    """
    known = marks.groupBy("transaction").agg(
        F.min("offset").alias("order"),
        F.min("ts_ms").alias("began_ms"),
        F.max(F.when(F.col("status") == END, F.col("offset"))).alias("end"),
        F.min(F.when(F.col("status") == END, F.col("landed_at"))).alias("ended_at"),
    )
    landed = events.groupBy("transaction", "collection").agg(
        F.countDistinct("total_order").alias("landed")
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
        .join(known.select("transaction", "order", "ended_at"), "transaction", "inner")
        .where(F.coalesce("landed", F.lit(0)) < F.col("expected"))
        .groupBy("transaction")
        .agg(F.min(_is_overtaken(doubts)).alias("overtaken"))
    )
    late = F.col("began_ms") + int(source.transactions.timeout.total_seconds() * 1000)
    ended, is_short = F.col("end").isNotNull(), F.col("overtaken").isNotNull()
    news = doubts.news if doubts and doubts.news is not None else -1
    odd = (
        F.when(~ended & (F.col("order") < news), "END was lost")
        .when(F.col("overtaken"), "fewer events landed than END counts, and later ones did")
        .when((~ended | is_short) & (late < stream_time_ms), "not whole after the timeout")
    )
    last = marks.agg(F.max(F.when(F.col("status") == BEGIN, F.col("offset"))).alias("last"))
    return (
        known.join(short, "transaction", "left")
        .crossJoin(last)
        .select(
            "transaction",
            "order",
            odd.alias("odd"),
            ((ended & ~is_short) | odd.isNotNull()).alias("whole"),
            (is_short | (~ended & (F.col("last") > F.col("order")))).alias("doubtful"),
        )
    )


def _is_overtaken(doubts: Doubts | None) -> Column:
    """Whether what is missing of a transaction can never come."""
    if doubts is None or not doubts.behind:
        return F.lit(False)
    entries = ", ".join(
        f"{literal(collection)}, named_struct('lowest', {lowest}L, 'highest', {highest}L)"
        for collection, (lowest, highest) in doubts.behind.items()
    )
    behind = F.expr(f"element_at(map({entries}), collection)")
    everywhere, anywhere = (
        F.coalesce(behind.getField(name), F.lit(-1)) for name in ("lowest", "highest")
    )
    is_old = F.col("ended_at") < F.lit(doubts.newest_landing)
    return (everywhere > F.col("order")) | ((anywhere > F.col("order")) & is_old)


def _ends(events: DataFrame, states: DataFrame, first: int | None) -> dict[tuple[str, int], int]:
    """First offset in each topic partition of a transaction that is not whole, or behind one."""
    ordered = events.join(states.select("transaction", "order"), "transaction", "left")
    waits = F.col("order").isNull()
    if first is not None:
        waits = waits | (F.col("order") >= first)
    rows = ordered.where(waits).groupBy("topic", "partition").agg(F.min("offset").alias("end"))
    return {(row["topic"], row["partition"]): row["end"] for row in rows.collect()}
