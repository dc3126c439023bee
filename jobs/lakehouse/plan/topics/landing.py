"""What to land: from landed offsets and what Kafka holds, to a plan.

In: the offsets that bronze has, the bounds of every selected topic partition. Out: a LandingPlan
of offset ranges, or LandingRefused with every reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from lakehouse.config import SourceConfig, required_topics, select_topics, topic_role
from lakehouse.errors import LandingRefused
from lakehouse.plan.topics.offset_faults import Fault, Loss, gone_fault, topic_faults
from lakehouse.plan.topics.offsets import (
    LandedOffsets,
    OffsetRange,
    PartitionBounds,
    TopicBounds,
    TopicProgress,
    batch_id,
)


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

    @property
    def is_news(self) -> bool:
        """Whether bronze has to learn of it: messages, or a loss that is accepted from now on."""
        return bool(self.ranges or self.accepted)

    @property
    def lost(self) -> tuple[OffsetRange, ...]:
        """The offsets that landing leaves out because their loss was accepted."""
        return tuple(loss.lost for loss in self.accepted if loss.lost is not None)


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
    losses = [gone_fault(topic, landed) for topic in sorted(gone)]
    for topic in found:
        losses.extend(topic_faults(topic, landed.topics.get(topic.topic)))
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
            f"expected one of the topics that exist: {shown}; correct [kafka] topics, start the "
            "connector, or let the login read its topics: Kafka hides the others (docs/grants.md)"
        )
    return selection.topics


def reading_turns(
    source: SourceConfig, partitions: Iterable[tuple[str, int]]
) -> tuple[list[tuple[str, int]], ...]:
    """Topic partitions in the turns in which their end offsets are read.

    Whatever the end of a transaction counts was sent before it: data whose end offsets are read
    later is complete for every transaction that the plan ends. A statement was sent before the
    data that it changes: if its topics come last, no event is applied before it.
    """
    listed = list(partitions)
    kafka = source.kafka
    turns = {kafka.transactions: 0, kafka.schema_changes: 2, kafka.schema_history: 2}
    return tuple([p for p in listed if turns.get(p[0], 1) == turn] for turn in range(3))


def gone_topics(
    source: SourceConfig, landed: LandedOffsets, existing: Collection[str]
) -> tuple[str, ...]:
    """Topics that should exist and do not: named one by one in the TOML file, or landed before."""
    expected = {topic for topic in landed.topics if topic_role(source, topic) is not None}
    return tuple(sorted((expected | set(required_topics(source))) - set(existing)))


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
