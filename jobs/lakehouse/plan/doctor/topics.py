"""Topics as Kafka describes them, and how far they are landed → findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lakehouse.config import SourceConfig, TopicRole, required_topics
from lakehouse.plan.doctor.findings import Finding, Level, Promise

# The order of these topics is the order of the source: they have one partition.
_SINGLE = {
    TopicRole.SCHEMA_CHANGE: Promise.SCHEMA,
    TopicRole.SCHEMA_HISTORY: Promise.SCHEMA,
    TopicRole.TRANSACTION: Promise.EQUALS,
}
_FOREVER = -1
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One topic of the source.

    Attributes:
        partitions: Partition → first offset that is still there.
        landed: Partition → first offset that is not landed yet.
        behind_ms: How long ago the source was landed last; None for never.
        cleanup_policy: As Kafka has it: `delete`, `compact` or both.
        retention_ms: -1 for no end.
        retention_bytes: Of each partition; -1 for no end.
    """

    name: str
    role: TopicRole
    partitions: dict[int, int]
    landed: dict[int, int]
    behind_ms: int | None
    cleanup_policy: str = "delete"
    retention_ms: int = 7 * _DAY_MS
    retention_bytes: int = _FOREVER

    @property
    def subject(self) -> str:
        """The topic as findings name it."""
        return f"topic {self.name}"


def judge_topics(topics: Sequence[TopicFacts], source: SourceConfig) -> tuple[Finding, ...]:
    """What in the source's topics breaks a promise."""
    judgements: tuple[Callable[[TopicFacts], Iterator[Finding]], ...] = (
        _partitions,
        _compaction,
        _loss,
        _retention,
    )
    found = [finding for topic in topics for judge in judgements for finding in judge(topic)]
    there = {topic.name for topic in topics}
    return (*_missing(there, source), *found)


def _missing(there: set[str], source: SourceConfig) -> Iterator[Finding]:
    for name in required_topics(source):
        if name not in there:
            yield Finding(
                Level.WARNING,
                f"topic {name}",
                "the topic",
                "not there",
                "a topic, since the TOML file names it",
                Promise.NO_LOSS,
                "Landing refuses to run without it.",
                "correct [kafka] in the TOML file, or create the topic",
            )


def _partitions(topic: TopicFacts) -> Iterator[Finding]:
    if len(topic.partitions) <= 1:
        return
    single = topic.role in _SINGLE
    if not single and topic.role is not TopicRole.DATA:
        return
    yield Finding(
        Level.BREAKS if single else Level.WARNING,
        topic.subject,
        "partitions",
        str(len(topic.partitions)),
        "1",
        _SINGLE.get(topic.role, Promise.NEVER_BACK),
        "Kafka keeps no order between partitions, and this topic's order is the source's."
        if single
        else "Truncates, and the two halves of a key change, are ordered by their position alone; "
        "raising the number of partitions later moves keys.",
        "create the topic with one partition before the connector starts",
    )


def _compaction(topic: TopicFacts) -> Iterator[Finding]:
    if "compact" not in topic.cleanup_policy or topic.role is TopicRole.SIGNAL:
        return
    yield Finding(
        Level.BREAKS,
        topic.subject,
        "cleanup.policy",
        repr(topic.cleanup_policy),
        "'delete'",
        Promise.NO_LOSS,
        "Compaction removes events before they are landed: versions, truncates and the counts of "
        "transactions are lost.",
        f"kafka-configs --alter --entity-type topics --entity-name {topic.name} "
        "--add-config cleanup.policy=delete, and topic.creation.default.cleanup.policy=delete",
    )


def _loss(topic: TopicFacts) -> Iterator[Finding]:
    for number, first in sorted(topic.partitions.items()):
        landed = topic.landed.get(number)
        if landed is None or landed >= first:
            continue
        yield Finding(
            Level.BREAKS,
            topic.subject,
            f"first offset of partition {number}",
            str(first),
            f"at most {landed}, where landing stopped",
            Promise.NO_LOSS,
            f"Kafka has deleted what lies between, {first - landed} offsets at most: the next "
            "landing will refuse.",
            "take a snapshot of the topic's tables, and land with the loss accepted",
        )


def _retention(topic: TopicFacts) -> Iterator[Finding]:
    if topic.role is TopicRole.SCHEMA_HISTORY:
        yield from _history(topic)
        return
    if topic.role is not TopicRole.DATA and topic.role not in _SINGLE:
        return
    age = topic.behind_ms
    if topic.retention_ms != _FOREVER:
        overdue = age is not None and age >= topic.retention_ms
        close = topic.retention_ms < _DAY_MS or (age is not None and 2 * age > topic.retention_ms)
        if overdue or close:
            yield Finding(
                Level.BREAKS if overdue else Level.WARNING,
                topic.subject,
                "retention.ms",
                f"{topic.retention_ms} ({topic.retention_ms / _HOUR_MS:.1f} hours)",
                "a day at least, and twice the time since the last landing"
                + (f" ({age / _HOUR_MS:.1f} hours)" if age is not None else ""),
                Promise.NO_LOSS,
                "Kafka deletes events before they are landed.",
                f"raise it: kafka-configs --alter --entity-type topics --entity-name {topic.name} "
                f"--add-config retention.ms={7 * _DAY_MS}; then run the source",
            )
    if topic.retention_bytes != _FOREVER:
        yield Finding(
            Level.WARNING,
            topic.subject,
            "retention.bytes",
            str(topic.retention_bytes),
            "-1",
            Promise.NO_LOSS,
            "A burst of changes makes Kafka delete events that are not landed yet.",
            "set retention.bytes=-1 and bound the topic by time",
        )


def _history(topic: TopicFacts) -> Iterator[Finding]:
    if topic.retention_ms == _FOREVER and topic.retention_bytes == _FOREVER:
        return
    yield Finding(
        Level.BREAKS,
        topic.subject,
        "retention.ms, retention.bytes",
        f"{topic.retention_ms}, {topic.retention_bytes}",
        "-1, -1",
        Promise.SCHEMA,
        "A connector that starts again without its whole schema history stops, or reads rows with "
        "the wrong columns.",
        f"kafka-configs --alter --entity-type topics --entity-name {topic.name} "
        "--add-config retention.ms=-1,retention.bytes=-1",
    )
