"""Whole transactions: up to where a batch may be applied.

In: the envelopes of a batch. Out: for each topic partition the first offset that is not applied,
so that what is applied is a prefix of whole source transactions (`design.md` §3, Transactions).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Row

from lakehouse.config import SourceConfig
from lakehouse.connectors import Connector
from lakehouse.envelope import READ
from lakehouse.plan.offsets import LandedOffsets
from lakehouse.spark.doubts import IS_EVENT, look_again
from lakehouse.spark.marks import begun, bounds, expected_events, ingested, load_marks
from lakehouse.spark.once import once
from lakehouse.spark.positions import SEPARATOR
from lakehouse.spark.sql import any_of, in_partition, literal
from lakehouse.spark.transaction_states import CONDITIONS, judge_transactions, summarise
from lakehouse.spark.unmarked import FIRST, settled

_FINDINGS_SHOWN = 20
_COPY = (
    "row_number() OVER (PARTITION BY topic, partition, transaction, total_order ORDER BY offset) "
    "AS copy"
)
_IS_READ = f"op = {literal(READ)} AND transaction IS NULL AND reason IS NULL AND NOT control"


@dataclass(frozen=True, slots=True)
class TransactionCut:
    """Where a batch ends.

    Attributes:
        ends: (topic, topic partition) → first offset that waits; absent where nothing waits.
        complete: How many whole transactions of the batch are before it.
        waiting: How many are not.
        findings: Transactions that are applied although their counts never matched.
        counts: The metrics of the suite `transactions`, as far as transactions tell them; empty
            where they are not looked at.
    """

    ends: Mapping[tuple[str, int], int] = field(default_factory=dict)
    complete: int = 0
    waiting: int = 0
    findings: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What lies around a batch.

    Attributes:
        stream_time_ms: The source's clock, in milliseconds since the epoch.
        landed: How far bronze goes.
        earlier: The envelopes before the batch; asked only when events seem to be missing, since
            a restarted connector may send the last events of a transaction alone, and its END.
        left_behind: Whether an event is of a transaction that an earlier batch found whole, as a
            condition: its table was held, its BEGIN and END are not in the batch.
    """

    stream_time_ms: int
    landed: LandedOffsets
    earlier: Callable[[], DataFrame]
    left_behind: str


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
        connector: Its position fields.
        around: What lies around the batch.
    """
    marks = once(load_marks(envelopes))
    unjudged = envelopes.where(f"NOT ({around.left_behind})")
    fresh = unjudged.where(f"{IS_EVENT} AND NOT redelivered")
    topics = ingested(marks, source)
    deadline = around.stream_time_ms - patience_ms(source)
    judge = partial(
        judge_transactions,
        bounds(marks, fresh),
        expected_events(marks, topics),
        tuple(topics),
        deadline,
    )
    states = once(judge(_events(envelopes), None))
    summary = summarise(states)
    if summary["short"]:
        doubts = look_again(envelopes, fresh, marks, around.earlier(), around.landed, topics)
        states = judge(_events(envelopes).unionByName(doubts.events), doubts)
        states = once(states)
        summary = summarise(states)
    closed = partial(_closed_ends, unjudged, fresh, commit_fields=connector.commit_fields)
    ends, first, is_unmarked = closed(states, summary["first"])
    topic = source.kafka.transactions
    if is_unmarked and topic is not None:
        more = settled(fresh, states, around.earlier(), topic, deadline)
        states = once(states.unionByName(more))
        summary = summarise(states)
        ends, first, _ = closed(states, summary["first"])
    if first is not None and topic is not None:
        ends[(topic, 0)] = int(first)
    odd = states.where("whole and odd is not null").limit(_FINDINGS_SHOWN)
    found = odd.collect() if summary["odd"] else ()
    return TransactionCut(
        ends,
        int(summary["whole"]),
        int(summary["waiting"]),
        tuple(f"transaction {row['transaction']}: {row['odd']}" for row in found),
        _metrics(states, summary, source, around),
    )


def patience_ms(source: SourceConfig) -> int:
    """How long what is not whole waits for its rest, in milliseconds of the source's time."""
    return int(source.transactions.timeout.total_seconds() * 1000)


def _metrics(
    states: DataFrame, summary: Row, source: SourceConfig, around: Surroundings
) -> dict[str, int]:
    """The sums over the batch's transactions; an END may come again whose BEGIN landed long ago."""
    counts = {name: int(summary[name] or 0) for name in ("marks", *CONDITIONS)}
    topic = source.kafka.transactions
    if counts["ends_without_begin"] and topic is not None:
        alone = states.where(CONDITIONS["ends_without_begin"]).select("transaction")
        counts["ends_without_begin"] -= begun(around.earlier(), topic, alone)
    return counts


def _events(envelopes: DataFrame) -> DataFrame:
    """What tells the change events of transactions apart."""
    return envelopes.where(IS_EVENT).select("transaction", "collection", "total_order")


def _closed_ends(
    envelopes: DataFrame, fresh: DataFrame, states: DataFrame, first: int | None, commit_fields: int
) -> tuple[dict[tuple[str, int], int], int | None, bool]:
    """First offset in each topic partition of what waits, and the first transaction that does.

    The third value is whether an event waits for the BEGIN of its transaction.
    A topic partition may have an event of a whole transaction, for the first time, behind one that
    waits: after a restart, or behind what an incremental snapshot read. Then it waits, too.
    """
    placed = fresh.join(states.select("transaction", "order"), "transaction", "left")
    ends, split, is_unmarked = _ends(envelopes, placed, first, commit_fields)
    if split is not None:
        placed = once(placed.selectExpr("*", _COPY).where("copy = 1"))
        ends, split, _ = _ends(envelopes, placed, first, commit_fields)
    while split is not None:
        first = split
        ends, split, _ = _ends(envelopes, placed, first, commit_fields)
    return ends, first, is_unmarked


def _ends(
    envelopes: DataFrame, placed: DataFrame, first: int | None, commit_fields: int
) -> tuple[dict[tuple[str, int], int], int | None, bool]:
    """First offset in each topic partition of what waits, and the first transaction that it splits.

    The third value is whether an event waits for the BEGIN of its transaction.

    Events of a transaction wait that is not whole, or behind one, and read events of an
    incremental snapshot that have seen such a transaction.
    """
    waits = "order IS NULL" if first is None else f"(order IS NULL OR order >= {first})"
    rows = (
        placed.groupBy("topic", "partition")
        .agg(
            F.expr(f"min(if({waits}, offset, NULL)) AS end"),
            F.expr(f"min(if({waits}, coalesce(position, ''), NULL)) AS position"),
            F.expr(f"max(if({waits}, NULL, offset)) AS last"),
            F.expr("count_if(order IS NULL) AS unmarked"),
        )
        .collect()
    )
    ends = {(r["topic"], r["partition"]): int(r["end"]) for r in rows if r["end"] is not None}
    if not ends:
        return ends, None, False
    is_unmarked = any(row["unmarked"] for row in rows)
    lowest = min(row["position"] for row in rows if row["position"] is not None)
    commit = SEPARATOR.join(lowest.split(SEPARATOR)[:commit_fields])
    reads = envelopes.where(f"{_IS_READ} AND position >= {literal(commit)}")
    for row in reads.groupBy("topic", "partition").agg(F.min("offset").alias("end")).collect():
        place = (row["topic"], row["partition"])
        ends[place] = min(ends.get(place, row["end"]), row["end"])
    behind = any_of(
        f"{in_partition(place)} AND offset >= {ends[place]}"
        for row in rows
        if (place := (row["topic"], row["partition"])) in ends
        and (row["last"] or -1) >= ends[place]
    )
    if behind == "false":
        return ends, None, is_unmarked
    # What came behind its END (`unmarked`) belongs to no cut: it may stay behind alone.
    mine = f"NOT {waits} AND order > {FIRST} AND ({behind})"
    split = placed.where(mine).agg(F.min("order")).collect()
    return ends, split[0][0], is_unmarked
