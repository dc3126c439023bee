"""What to land: from landed offsets and what Kafka or an archive holds, to a plan.

In: the offsets that bronze has, the bounds of every selected topic partition. Out: a LandingPlan
of offset ranges, or LandingRefused with every reason. Offset ranges are half-open. Gaps between
offsets are normal (transaction markers, compaction), so nothing here counts messages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from lakehouse.config import SourceConfig, required_topics, select_topics, topic_role
from lakehouse.errors import LandingRefused

# A Spark task lands about so many messages, and writes one file.
MESSAGES_PER_TASK = 100_000


class Fault(StrEnum):
    """Why landing a topic would lose, repeat or mix up messages."""

    MISSING = "missing"
    DELETED = "deleted"
    RECREATED = "re-created"
    TRUNCATED = "truncated"
    EXPIRED = "expired"
    MORE_PARTITIONS = "more partitions"


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """The offsets `[start, end)` of one topic partition."""

    topic: str
    partition: int
    start: int
    end: int
    topic_id: str


@dataclass(frozen=True, slots=True, order=True)
class PartitionBounds:
    """What can be read of one topic partition.

    Attributes:
        partition: Number of the topic partition.
        begin: First offset that is still there.
        end: End offset: the first one that is not readable yet.
        limit: Where the data interval ends: its first offset outside; None for no limit.
    """

    partition: int
    begin: int
    end: int
    limit: int | None = None

    @property
    def stop(self) -> int:
        """The first offset that is not landed now."""
        return self.end if self.limit is None else max(self.begin, min(self.end, self.limit))


@dataclass(frozen=True, slots=True)
class TopicBounds:
    """What can be read of one topic. `topic_id` changes when a topic is created again."""

    topic: str
    topic_id: str
    partitions: tuple[PartitionBounds, ...]


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """How far one topic is landed: topic partition → next offset."""

    topic_id: str
    next_offsets: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class LandedOffsets:
    """The landed offsets of a source: how far each topic is in bronze."""

    topics: Mapping[str, TopicProgress] = field(default_factory=dict)

    def to_json(self) -> str:
        """As JSON: topic → {"id", "partitions": {partition → next offset}}, keys sorted."""
        return json.dumps(
            {
                topic: {
                    "id": progress.topic_id,
                    "partitions": {
                        str(number): progress.next_offsets[number]
                        for number in sorted(progress.next_offsets)
                    },
                }
                for topic, progress in sorted(self.topics.items())
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_json(cls, text: str) -> LandedOffsets:
        """Read what `to_json` wrote."""
        return cls(
            {
                topic: TopicProgress(
                    entry["id"],
                    {int(number): int(next_) for number, next_ in entry["partitions"].items()},
                )
                for topic, entry in json.loads(text).items()
            }
        )

    def next_offset(self, topic: str, partition: int) -> int | None:
        """The first offset that is not landed; None when the topic partition is unknown."""
        progress = self.topics.get(topic)
        return progress.next_offsets.get(partition) if progress is not None else None

    def merged(self, older: LandedOffsets) -> LandedOffsets:
        """These offsets, and of `older` the topics and topic partitions that are missing here."""
        topics = dict(self.topics)
        for topic, progress in older.topics.items():
            mine = topics.setdefault(topic, progress)
            if mine.topic_id == progress.topic_id:
                both = {**progress.next_offsets, **mine.next_offsets}
                topics[topic] = TopicProgress(mine.topic_id, both)
        return LandedOffsets(topics)


@dataclass(frozen=True, slots=True)
class Loss:
    """Something about a topic that a person has to accept before landing goes on."""

    topic: str
    fault: Fault
    sentence: str


@dataclass(frozen=True, slots=True)
class LandingPlan:
    """What one landing reads.

    Attributes:
        ranges: Non-empty offset ranges, by topic and topic partition.
        landed: The landed offsets once the ranges are in bronze.
        batch_id: The same ranges of the same topics have the same id; empty for no range.
        accepted: Faults that were accepted by name.
    """

    ranges: tuple[OffsetRange, ...]
    landed: LandedOffsets
    batch_id: str
    accepted: tuple[Loss, ...] = ()


def plan_landing(
    landed: LandedOffsets,
    bounds: Iterable[TopicBounds],
    *,
    gone: Collection[str] = (),
    accept_loss: Collection[str] = (),
) -> LandingPlan:
    """Plan one landing.

    Args:
        landed: What bronze has.
        bounds: Every selected topic that exists.
        gone: Topics that are selected and landed, or named in the TOML file, and do not exist.
        accept_loss: Topics whose faults a person has accepted: they go on with what is there.

    Raises:
        LandingRefused: With one line for each fault that was not accepted.
    """
    found = sorted(bounds, key=lambda topic: topic.topic)
    losses = [_gone(topic, landed) for topic in sorted(gone)]
    for topic in found:
        losses.extend(_faults(topic, landed.topics.get(topic.topic)))
    refused = [loss for loss in losses if loss.topic not in accept_loss]
    if refused:
        raise LandingRefused("\n".join(loss.sentence for loss in refused))
    recreated = {loss.topic for loss in losses if loss.fault is Fault.RECREATED}
    kept = LandedOffsets(
        {
            topic: progress
            for topic, progress in landed.topics.items()
            if topic not in recreated and topic not in gone
        }
    )
    ranges = tuple(sorted(_ranges(kept, found)))
    return LandingPlan(ranges, _advanced(kept, found), batch_id(ranges), tuple(losses))


def landing_topics(source: SourceConfig, existing: Collection[str]) -> tuple[str, ...]:
    """The topics of a cluster or an archive that the source lands, transaction topics first.

    Raises:
        LandingRefused: If there is none.
    """
    selection = select_topics(source, existing)
    if not selection.selected:
        shown = ", ".join(selection.ignored[:20]) or "none"
        raise LandingRefused(
            f"Source {source.name!r}: no topic matches {', '.join(source.kafka.topics)}: "
            f"expected one of the topics that exist: {shown}; correct [kafka] topics, or start "
            "the connector"
        )
    return selection.topics


def gone_topics(
    source: SourceConfig, landed: LandedOffsets, existing: Collection[str]
) -> tuple[str, ...]:
    """Topics that should exist and do not: named one by one in the TOML file, or landed before."""
    expected = {topic for topic in landed.topics if topic_role(source, topic) is not None}
    return tuple(sorted((expected | set(required_topics(source))) - set(existing)))


def landing_tasks(ranges: Iterable[OffsetRange]) -> int:
    """How many Spark tasks land the ranges; each writes at most one file."""
    span = sum(r.end - r.start for r in ranges)
    return max(1, -(-span // MESSAGES_PER_TASK))


def batch_id(ranges: Iterable[OffsetRange]) -> str:
    """A name for the ranges, from topic ids, topic partitions and offsets; empty for none."""
    parts = [(r.topic_id, r.topic, r.partition, r.start, r.end) for r in sorted(ranges)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32] if parts else ""


def _ranges(landed: LandedOffsets, found: Iterable[TopicBounds]) -> Iterator[OffsetRange]:
    for topic in found:
        for bounds in topic.partitions:
            start = _start(landed, topic.topic, bounds)
            if start < bounds.stop:
                yield OffsetRange(topic.topic, bounds.partition, start, bounds.stop, topic.topic_id)


def _start(landed: LandedOffsets, topic: str, bounds: PartitionBounds) -> int:
    """Where to read on: never below the first offset, nor past the end of an accepted loss."""
    next_offset = landed.next_offset(topic, bounds.partition)
    if next_offset is None:
        return bounds.begin
    return min(max(bounds.begin, next_offset), bounds.end)


def _advanced(landed: LandedOffsets, found: Iterable[TopicBounds]) -> LandedOffsets:
    topics = dict(landed.topics)
    for topic in found:
        after = {
            bounds.partition: max(_start(landed, topic.topic, bounds), bounds.stop)
            for bounds in topic.partitions
        }
        topics[topic.topic] = TopicProgress(topic.topic_id, after)
    return LandedOffsets(topics)


def _faults(topic: TopicBounds, progress: TopicProgress | None) -> Iterator[Loss]:
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
            yield _expired(name, bounds, next_offset)
        elif bounds.end < next_offset:
            yield _truncated(name, bounds, next_offset)


def _gone(topic: str, landed: LandedOffsets) -> Loss:
    if topic in landed.topics:
        return Loss(
            topic,
            Fault.DELETED,
            f"Topic {topic!r}: does not exist any more: expected it, because bronze has messages "
            "of it and cannot tell whether these were the last. If it was deleted on purpose: "
            f"{_way_out(topic)}",
        )
    return Loss(
        topic,
        Fault.MISSING,
        f"Topic {topic!r}: does not exist: expected it, because the TOML file names it; correct "
        "[kafka] topics, or create the topic (the connector does, with its first message)",
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


def _expired(topic: str, bounds: PartitionBounds, next_offset: int) -> Loss:
    return Loss(
        topic,
        Fault.EXPIRED,
        f"Topic {topic!r} partition {bounds.partition}: begins at offset {bounds.begin}: expected "
        f"{next_offset} or lower, the next one to land. Offsets [{next_offset}, {bounds.begin}) "
        f"expired before they were landed. {_way_out(topic)}",
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
