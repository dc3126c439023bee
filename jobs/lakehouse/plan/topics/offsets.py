"""Offsets as landing counts them: bounds of topics, ranges, and how far topics are landed.

Offset ranges are half-open. Gaps between offsets are normal (transaction markers, compaction), so
nothing here counts messages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# A Spark task lands so many messages at most, and writes one file.
_MESSAGES_PER_TASK = 50_000
# Of fewer than twice as many none is worth a second task.
_LEAST_PER_TASK = 10_000


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

    def are_within(self, others: LandedOffsets) -> bool:
        """Whether nothing is landed here that is not before other offsets of the same topics."""
        return all(
            number_of <= (others.next_offset(topic, number) or 0)
            and progress.topic_id == others.topics[topic].topic_id
            for topic, progress in self.topics.items()
            for number, number_of in progress.next_offsets.items()
            if number_of
        )

    def without(self, ranges: Iterable[OffsetRange]) -> LandedOffsets:
        """The same before some ranges were landed."""
        topics = dict(self.topics)
        for each in ranges:
            progress = topics.get(each.topic, TopicProgress(each.topic_id, {}))
            starts = {**progress.next_offsets, each.partition: each.start}
            topics[each.topic] = TopicProgress(progress.topic_id, starts)
        return LandedOffsets(topics)

    def merged(self, older: LandedOffsets) -> LandedOffsets:
        """These offsets, and of `older` the topics and topic partitions that are missing here."""
        topics = dict(self.topics)
        for topic, progress in older.topics.items():
            mine = topics.setdefault(topic, progress)
            if mine.topic_id == progress.topic_id:
                both = {**progress.next_offsets, **mine.next_offsets}
                topics[topic] = TopicProgress(mine.topic_id, both)
        return LandedOffsets(topics)


def offsets_behind(ends: Iterable[TopicBounds], offsets: LandedOffsets) -> int:
    """Offsets between what is done and the ends; a topic that was made again counts whole."""
    missing = 0
    for topic in ends:
        known = offsets.topics.get(topic.topic)
        mine = known is not None and known.topic_id == topic.topic_id
        for part in topic.partitions:
            done = known.next_offsets.get(part.partition) if known and mine else None
            missing += max(0, part.stop - (part.begin if done is None else done))
    return missing


def messages_per_task(ranges: Iterable[OffsetRange], cores: int) -> int:
    """How many messages a Spark task lands at most, so that no core is idle.

    What is one file is read by one task too, when it is parsed.

    Args:
        ranges: What is landed.
        cores: How many tasks may run at once.
    """
    span = _span(ranges)
    if span <= 2 * _LEAST_PER_TASK:
        return _MESSAGES_PER_TASK
    return min(_MESSAGES_PER_TASK, max(_LEAST_PER_TASK, -(-span // cores)))


def parted(
    ranges: Iterable[OffsetRange], per_task: int
) -> tuple[list[OffsetRange], list[OffsetRange]]:
    """The ranges that are worth tasks of their own, and those that share theirs.

    Args:
        ranges: What is landed.
        per_task: From `messages_per_task`.
    """
    alone, shared = list[OffsetRange](), list[OffsetRange]()
    for each in ranges:
        (alone if _span([each]) > per_task // 2 else shared).append(each)
    return alone, shared


def landing_tasks(ranges: Iterable[OffsetRange], per_task: int) -> int:
    """How many Spark tasks land the ranges; each writes at most one file.

    Args:
        ranges: What is landed.
        per_task: From `messages_per_task`.
    """
    alone, shared = parted(ranges, per_task)
    spans = [_span([each]) for each in alone] + ([_span(shared)] if shared else [])
    return max(1, sum(-(-span // per_task) for span in spans))


def _span(ranges: Iterable[OffsetRange]) -> int:
    return sum(each.end - each.start for each in ranges)


def batch_id(ranges: Iterable[OffsetRange]) -> str:
    """A name for the ranges, from topic ids, topic partitions and offsets; empty for none."""
    parts = [(r.topic_id, r.topic, r.partition, r.start, r.end) for r in sorted(ranges)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32] if parts else ""
