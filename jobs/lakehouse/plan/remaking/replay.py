"""Replay: which quarantined messages are judged again, and what became of each.

In: rows of `quality.quarantine`, the messages as they read today, what staging did. Out: the rows
that are open, a fate for each, the counts of the law, and the rows that a replay appends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from lakehouse.envelope import TRUNCATE
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.conservation import Law
from lakehouse.plan.batches.tables import Place, TopicPartition
from lakehouse.plan.records import QuarantineRow
from lakehouse.plan.topics.offsets import LandedOffsets

OPEN, REPLAYED = "open", "replayed"


class Fate(StrEnum):
    """What becomes of a message that is judged again."""

    APPLIED = "applied"
    # Silver has a newer row, or has it already.
    SUPERSEDED = "superseded"
    CONTROL = "control"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Message:
    """A quarantined message as it reads today.

    Attributes:
        reason: Why it cannot be read; None where it can.
        identity: Its table of today; None for control and unreadable messages.
    """

    place: Place
    reason: str | None
    control: bool
    op: str | None
    identity: TableIdentity | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a replay found out.

    Attributes:
        controls: Control tables.
        strays: (topic, table) of events that stand in a topic that is not their table's.
        staged: Tables whose events were judged; those of the others wait.
        bad: What cannot be applied.
        applied: What is.
    """

    controls: Collection[TableIdentity] = ()
    strays: Collection[tuple[str, TableIdentity]] = ()
    staged: Collection[TableIdentity] = ()
    bad: Collection[Place] = ()
    applied: Collection[Place] = ()


def open_rows(rows: Iterable[QuarantineRow], applied: LandedOffsets) -> dict[Place, QuarantineRow]:
    """The messages whose newest state is open and that runs have left behind.

    Args:
        rows: A source's quarantine, in no order.
        applied: How far the newest cut is; what is behind it a run still judges itself.
    """
    newest: dict[Place, QuarantineRow] = {}
    for row in sorted(rows, key=lambda row: row.recorded_at):
        topic = applied.topics.get(row.topic)
        if topic is not None and topic.topic_id == row.topic_id:
            newest[(row.topic, row.partition, row.offset)] = row
    return {
        place: row
        for place, row in sorted(newest.items())
        if row.state == OPEN and row.offset < (applied.next_offset(row.topic, row.partition) or 0)
    }


def taken_out(rows: Iterable[QuarantineRow], since: datetime, run_id: str) -> list[Place]:
    """The messages that left the quarantine.

    Args:
        rows: A source's quarantine, in no order.
        since: The rows of before do not count.
        run_id: Nor do those of this run.
    """
    return [
        (row.topic, row.partition, row.offset)
        for row in rows
        if row.state != OPEN and row.recorded_at > since and row.run_id != run_id
    ]


def put_back(
    rows: Iterable[QuarantineRow], taken_by: str, run_id: str, now: datetime
) -> list[QuarantineRow]:
    """The rows that say that what a run took out of the quarantine is in it again."""
    return [
        replace(row, state=OPEN, detail="a rebuild was undone", run_id=run_id, recorded_at=now)
        for row in rows
        if row.state == REPLAYED and row.run_id == taken_by
    ]


def fate(message: Message, judged: Judgement) -> Fate:
    """What becomes of one message."""
    table = message.identity
    if message.control or table in judged.controls:
        return Fate.CONTROL
    if message.reason is not None or table is None or table not in judged.staged:
        return Fate.OPEN
    if (message.place[0], table) in judged.strays or message.place in judged.bad:
        return Fate.OPEN
    is_applied = message.op == TRUNCATE or message.place in judged.applied
    return Fate.APPLIED if is_applied else Fate.SUPERSEDED


def replay_laws(
    before: Mapping[TopicPartition, Law], fates: Mapping[Place, Fate]
) -> dict[TopicPartition, Law]:
    """The counts of the law: what is taken from the quarantine was pending, and has its place.

    Args:
        before: The law of the run before, of which everything that waits still does.
        fates: Every message that was judged again.
    """
    counts: dict[TopicPartition, Counter[Fate]] = {place: Counter() for place in before}
    for (topic, number, _), became in fates.items():
        counts.setdefault((topic, number), Counter())[became] += 1
    return {place: _law(before.get(place, Law()), each) for place, each in sorted(counts.items())}


def _law(before: Law, counts: Counter[Fate]) -> Law:
    return Law(
        pending_before=before.pending_after + counts.total(),
        applied=counts[Fate.APPLIED],
        superseded=counts[Fate.SUPERSEDED],
        quarantined=counts[Fate.OPEN],
        control=counts[Fate.CONTROL],
        open_transaction=before.open_transaction,
        held_table=before.held_table,
    )


def replayed_rows(
    rows: Mapping[Place, QuarantineRow], fates: Mapping[Place, Fate], run_id: str, now: datetime
) -> list[QuarantineRow]:
    """The rows that say which messages are quarantined no longer."""
    return [
        replace(row, state=REPLAYED, detail=fates[place], run_id=run_id, recorded_at=now)
        for place, row in rows.items()
        if fates.get(place, Fate.OPEN) is not Fate.OPEN
    ]


def sentence(rows: Mapping[Place, QuarantineRow], fates: Mapping[Place, Fate]) -> str:
    """What became of the messages of each reason, for a person."""
    counts: dict[str, Counter[Fate]] = {}
    for place, row in rows.items():
        counts.setdefault(row.reason, Counter())[fates.get(place, Fate.OPEN)] += 1
    parts = [f"{reason}: {_counted(each)}" for reason, each in sorted(counts.items())]
    judged = f"{len(rows)} quarantined messages judged again"
    return "; ".join((judged, *parts)) if parts else "nothing in quarantine is open"


def _counted(counts: Counter[Fate]) -> str:
    words: Sequence[tuple[Fate, str]] = [
        (Fate.APPLIED, "applied"),
        (Fate.SUPERSEDED, "superseded"),
        (Fate.CONTROL, "control"),
        (Fate.OPEN, "stay open"),
    ]
    return ", ".join(f"{counts[which]} {word}" for which, word in words if counts[which])
