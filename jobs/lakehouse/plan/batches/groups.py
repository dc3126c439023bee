"""The profile of a batch as values: what the driver plans with instead of messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from lakehouse.config import TopicRole
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.plan.epochs import High, Top
from lakehouse.plan.topics.offsets import LandedOffsets


@dataclass(frozen=True, slots=True)
class Group:
    """Messages of one topic partition that have the same table, schema version and outcome.

    Attributes:
        is_schema_change: Whether they are schema changes that stand between data events.
        reason: Why they are quarantined; None where they are not.
        identity: The table of today; None for control and unreadable messages.
        renamed: Whether the table had another name when they were sent.
        fingerprint: Names the schema text; None where there is no value.
        key_fields: JSON list of the event key's fields, sorted; None for a null key.
        rows: How many of them change rows; truncates do not.
        first_position: Lowest position of a change event; None where there is none.
        last_position: The highest one.
        truncate: Highest position of a truncate event; None when there is none.
        snapshots_begun: How many events begin the part of a source snapshot that reads the table.
        snapshots_ended: How many end it.
        suspects: How many may be of events that silver has already.
        last_unplaced: Offset of the last read event that what was streamed before it places; None
            for none.
        first_placed: Offset of the first message that is no such event; None for none.
        halves: How many are halves of key changes that no transaction keeps together.
        first_incremental: Lowest position of an incremental snapshot's event; None for none.
        last_incremental: The highest one.
        deletes: How many are delete events.
        last_delete: Offset of the last of them; None for none.
        tombstones: How many are tombstones.
        large: How many have a value of half the size that can be applied, or more.
        octets: How much text they have, but for schemas.
        bare: How many carry no schema.
        in_transactions: How many name a transaction.
        high: The highest position number.
        top: The newest streamed event, by position; None for none.
        arrived_ms: The newest timestamp in Kafka, in milliseconds since the epoch.
    """

    topic: str
    partition: int
    role: str
    control: bool
    is_schema_change: bool
    reason: str | None
    identity: TableIdentity | None
    renamed: bool
    collection: str
    fingerprint: int | None
    key_fields: str | None
    count: int
    rows: int
    first_offset: int
    first_position: str | None
    placeholders: int
    suspects: int
    truncate: str | None
    last_unplaced: int | None = None
    first_placed: int | None = None
    halves: int = 0
    snapshots_begun: int = 0
    snapshots_ended: int = 0
    last_position: str | None = None
    first_incremental: str | None = None
    last_incremental: str | None = None
    deletes: int = 0
    last_delete: int | None = None
    tombstones: int = 0
    large: int = 0
    octets: int = 0
    bare: int = 0
    in_transactions: int = 0
    high: High | None = None
    top: Top | None = None
    arrived_ms: int = 0


def reads_behind_changes(
    groups: Iterable[Group], streamed: Collection[TopicPartition]
) -> set[TopicPartition]:
    """Where something may be streamed before a read event; it has the lowest place else.

    Args:
        groups: The profile of the batch.
        streamed: The topic partitions in which something was streamed before the batch.
    """
    reads: dict[TopicPartition, int] = {}
    others: dict[TopicPartition, int] = {}
    for group in groups:
        place = (group.topic, group.partition)
        if group.last_unplaced is not None:
            reads[place] = max(reads.get(place, 0), group.last_unplaced)
        if group.first_placed is not None:
            others[place] = min(others.get(place, group.first_placed), group.first_placed)
    return {p for p, last in reads.items() if p in streamed or others.get(p, last) < last}


def topic_metrics(groups: Iterable[Group], landed: LandedOffsets) -> dict[str, dict[str, int]]:
    """The metrics of the suite `bronze` that parsed messages tell, by `topic/partition`.

    Args:
        groups: The profile of the batch.
        landed: How far its topics are landed: behind a last delete event the tombstone may come.
    """
    found: dict[tuple[str, int], list[Group]] = {}
    for group in groups:
        found.setdefault((group.topic, group.partition), []).append(group)
    # A connector sends them for all of a topic's deletes, or for none.
    told = {topic for (topic, _), mine in found.items() if any(g.tombstones for g in mine)}
    return {
        f"{topic}/{number}": {
            "large_messages": sum(group.large for group in mine),
            **(
                {"deletes_without_tombstone": _lacking(mine, landed.next_offset(topic, number))}
                if topic in told
                else {}
            ),
        }
        for (topic, number), mine in found.items()
    }


def _lacking(groups: Iterable[Group], end: int | None) -> int:
    """Delete events of a topic partition without a tombstone; of the very last one it may come."""
    mine = list(groups)
    last = max((g.last_delete for g in mine if g.last_delete is not None), default=-1)
    deletes = sum(group.deletes for group in mine) - int(last + 1 == end)
    return max(0, deletes - sum(group.tombstones for group in mine))


def transaction_metrics(counts: Mapping[str, int], groups: Iterable[Group]) -> dict[str, int]:
    """The metrics of the suite `transactions`.

    Args:
        counts: What the transactions of the batch tell, among it how many `marks` could be read;
            empty where nobody looked at them.
        groups: The profile of the batch; where it has no marks there is nothing to judge.
    """
    mine = [group for group in groups if group.role == TopicRole.TRANSACTION]
    if not counts or not mine:
        return {}
    metrics = {name: count for name, count in counts.items() if name != "marks"}
    return metrics | {
        "messages_in_other_partitions": sum(g.count for g in mine if g.partition != 0),
        "unreadable_marks": sum(g.count for g in mine) - counts["marks"],
    }
