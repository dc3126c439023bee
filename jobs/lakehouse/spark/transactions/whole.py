"""Whole transactions: up to where a batch may be applied.

In: the envelopes of a batch. Out: for each topic partition the first offset that is not applied,
so that what is applied is a prefix of whole source transactions (`design.md` §3, Transactions).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from pyspark.sql import DataFrame, Row

from lakehouse.config import SourceConfig
from lakehouse.connectors import Connector
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.once import once
from lakehouse.spark.parsing.positions import commit_of, commit_part
from lakehouse.spark.sql import literal
from lakehouse.spark.transactions.doubts import EVENT, IS_EVENT, Earlier, landed_earlier, look_again
from lakehouse.spark.transactions.ends import closed_ends
from lakehouse.spark.transactions.marks import MARKED, begun, ingested, load_marks
from lakehouse.spark.transactions.states import (
    CONDITIONS,
    gather,
    judge_transactions,
    summarise,
    survey,
)
from lakehouse.spark.transactions.unmarked import settled

_FINDINGS_SHOWN = 20
_APPLIED = ("false AS fresh", "false AS is_new")


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
        position: The highest one that is applied; empty for none.
        landed: How far bronze goes.
        earlier: Reads envelopes before the batch; asked only when events seem to be missing, since
            a restarted connector may send the last events of a transaction alone, and its END.
        left_behind: Whether an event is of a transaction that an earlier batch found whole, as a
            condition: its table was held, its BEGIN and END are not in the batch.
        lost: Topics of which offsets were lost that transactions of the batch may have had.
    """

    stream_time_ms: int
    position: str
    landed: LandedOffsets
    earlier: Earlier
    left_behind: str
    lost: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class _Judged:
    """The transactions of a batch, and its change events of them that are not applied yet."""

    fresh: DataFrame
    states: DataFrame
    summary: Row
    unmarked: int
    deadline_ms: int


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
    judged = _judge(envelopes, source, connector, around)
    ends: dict[tuple[str, int], int] = {}
    if judged.summary["waiting"] or judged.unmarked:
        judged, ends = _close(judged, envelopes, source, connector, around)
    states, summary = judged.states, judged.summary
    odd = states.where("whole and odd is not null").limit(_FINDINGS_SHOWN)
    found = odd.collect() if summary["odd"] else []
    return TransactionCut(
        ends,
        int(summary["whole"]),
        int(summary["waiting"]),
        tuple(f"transaction {row['transaction']}: {row['odd']}" for row in found),
        _metrics(states, summary, source, around),
    )


def _judge(
    envelopes: DataFrame, source: SourceConfig, connector: Connector, around: Surroundings
) -> _Judged:
    marks, is_fresh = load_marks(envelopes), f"NOT ({around.left_behind}) AND NOT redelivered"
    fresh = envelopes.where(f"{IS_EVENT} AND {is_fresh}")
    told = (f"{is_fresh} AS fresh", f"{_is_new(connector, around)} AS is_new")
    events = envelopes.where(IS_EVENT).selectExpr(*EVENT, *told)
    found = once(gather(marks, events))
    seen = survey(found)
    topics = ingested(seen.collections, source)
    deadline = around.stream_time_ms - patience_ms(source)
    states = judge_transactions(found, seen.newest, topics, deadline, None)
    summary = summarise(states)
    if summary["doubtful"]:
        some = states.where("short AND NOT is_new").selectExpr(*_doubt(connector))
        before = landed_earlier(envelopes, some, around.earlier, source, topics.values())
        if before is not None:
            found = once(gather(marks, events.unionByName(before.selectExpr("*", *_APPLIED))))
    if summary["short"]:
        doubts = look_again(envelopes, fresh, marks, around.landed, topics, around.lost)
        states = judge_transactions(found, seen.newest, topics, deadline, doubts)
        summary = summarise(states)
    return _Judged(fresh, states, summary, seen.unmarked, deadline)


def _is_new(connector: Connector, around: Surroundings) -> str:
    """Whether nothing of an event's transaction is applied: it was committed behind all that is.

    Of a commit that PostgreSQL did not send the place is not known so well.
    """
    applied = commit_of(around.position, connector.commit_fields)
    is_behind = f"{commit_part(connector.commit_fields)} > {literal(applied)}"
    return f"coalesce(NOT running AND NOT unplaced AND {is_behind}, false)"


def _doubt(connector: Connector) -> tuple[str, ...]:
    """What `landed_earlier` is told of a transaction; where END comes late, its time is another's.

    Nothing is older than 0.
    """
    known = "begin IS NOT NULL" if connector.ends_late else "true"
    return "transaction", "seen", f"coalesce(if({known}, began_ms, NULL), 0L) AS began_ms"


def _close(
    judged: _Judged,
    envelopes: DataFrame,
    source: SourceConfig,
    connector: Connector,
    around: Surroundings,
) -> tuple[_Judged, dict[tuple[str, int], int]]:
    """Where what waits begins; what waits for a BEGIN and need not is judged, too."""
    unjudged = envelopes.where(f"NOT ({around.left_behind})")
    closed = partial(closed_ends, unjudged, judged.fresh, commit_fields=connector.commit_fields)
    ends, first, is_unmarked = closed(judged.states, judged.summary["first"])
    topic = source.kafka.transactions
    if is_unmarked and topic is not None:
        more = settled(judged.fresh, judged.states, around.earlier, topic, judged.deadline_ms)
        states = once(judged.states.unionByName(more))
        judged = replace(judged, states=states, summary=summarise(states))
        ends, first, _ = closed(states, judged.summary["first"])
    if first is not None and topic is not None:
        ends[(topic, 0)] = int(first)
    return judged, ends


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
        counts["ends_without_begin"] -= begun(around.earlier([topic], 0, MARKED), alone)
    return counts
