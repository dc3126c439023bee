"""Faults of a topic: why landing it would lose, repeat or mix up messages.

In: what bronze has of a topic, and what Kafka holds. Out: each fault in words, with the way out and
the offsets that are lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from lakehouse.plan.topics.offsets import (
    LandedOffsets,
    OffsetRange,
    PartitionBounds,
    TopicBounds,
    TopicProgress,
)


class Fault(StrEnum):
    """Why landing a topic would lose, repeat or mix up messages."""

    MISSING = "missing"
    DELETED = "deleted"
    RECREATED = "re-created"
    TRUNCATED = "truncated"
    EXPIRED = "expired"
    MORE_PARTITIONS = "more partitions"


@dataclass(frozen=True, slots=True)
class Loss:
    """Something about a topic that a person has to accept before landing goes on.

    Attributes:
        lost: The offsets that were never landed, where they are known.
    """

    topic: str
    fault: Fault
    sentence: str
    lost: OffsetRange | None = None


def topic_faults(topic: TopicBounds, progress: TopicProgress | None) -> Iterator[Loss]:
    """Every fault of a topic that was landed before, the one that explains the others alone."""
    if progress is None:
        return
    name, found = topic.topic, {bounds.partition: bounds for bounds in topic.partitions}
    if progress.topic_id != topic.topic_id or not found.keys() >= progress.next_offsets.keys():
        yield _recreated(topic, progress)
        return
    if len(found) > len(progress.next_offsets):
        yield Loss(
            name,
            Fault.MORE_PARTITIONS,
            f"Topic {name!r}: {len(found)} partitions: expected {len(progress.next_offsets)}, "
            "as landed so far; keys may have moved between partitions, so order across them is "
            f"lost. {_way_out(name)}",
        )
    for number, next_offset in sorted(progress.next_offsets.items()):
        bounds = found[number]
        if bounds.begin > next_offset:
            yield _expired(topic, bounds, next_offset)
        elif bounds.end < next_offset:
            yield _truncated(name, bounds, next_offset)


def gone_fault(topic: str, landed: LandedOffsets) -> Loss:
    """The fault of a topic that does not exist, be it landed before or named in the TOML file."""
    if topic in landed.topics:
        return Loss(
            topic,
            Fault.DELETED,
            f"Topic {topic!r}: does not exist any more: expected it, because bronze has messages "
            "of it and cannot tell whether these were the last. Kafka hides it from a login that "
            "may not read it (docs/grants.md). If it was deleted on purpose: "
            f"{_way_out(topic)}",
        )
    return Loss(
        topic,
        Fault.MISSING,
        f"Topic {topic!r}: does not exist: expected it, because the TOML file names it; correct "
        "[kafka] topics, create the topic (the connector does, with its first message), or let the "
        "login read it (docs/grants.md)",
    )


def _recreated(topic: TopicBounds, progress: TopicProgress) -> Loss:
    return Loss(
        topic.topic,
        Fault.RECREATED,
        f"Topic {topic.topic!r}: id {topic.topic_id!r} with {len(topic.partitions)} partitions: "
        f"expected id {progress.topic_id!r} with {len(progress.next_offsets)}, as landed so far. "
        "It was deleted and created again, or is another cluster's or an archive's, and its "
        f"offsets mean other messages. {_way_out(topic.topic)}",
    )


def _expired(topic: TopicBounds, bounds: PartitionBounds, next_offset: int) -> Loss:
    name = topic.topic
    return Loss(
        name,
        Fault.EXPIRED,
        f"Topic {name!r} partition {bounds.partition}: begins at offset {bounds.begin}: expected "
        f"{next_offset} or lower, the next one to land. Offsets [{next_offset}, {bounds.begin}) "
        f"expired before they were landed. {_way_out(name)}",
        OffsetRange(name, bounds.partition, next_offset, bounds.begin, topic.topic_id),
    )


def _truncated(topic: str, bounds: PartitionBounds, next_offset: int) -> Loss:
    return Loss(
        topic,
        Fault.TRUNCATED,
        f"Topic {topic!r} partition {bounds.partition}: ends at offset {bounds.end}: expected "
        f"{next_offset} or higher, because lower ones are landed. The broker lost its newest "
        f"messages, and what it gets now has offsets that bronze knows. {_way_out(topic)}",
    )


def _way_out(topic: str) -> str:
    return (
        "Take a snapshot of its tables, and land with --accept-loss "
        f"{topic} to go on with what is there"
    )
