"""The source's topics as Kafka describes them, beside what bronze has of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from lakehouse.config import SourceConfig, topic_role
from lakehouse.plan.doctor.topics import TopicFacts
from lakehouse.plan.topics.offsets import LandedOffsets, TopicBounds
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.landing.kafka import read_topic_configs, read_topics


def read_source_topics(
    source: SourceConfig, properties: Mapping[str, str], ledger: Ledger
) -> tuple[TopicFacts, ...]:
    """The topics that the source lands, by name.

    Raises:
        KafkaUnreachable: No broker answers.
        LandingRefused: No topic is the source's.
    """
    bounds = read_topics(source, properties).bounds
    configs = read_topic_configs(properties, [topic.topic for topic in bounds])
    bronze = Bronze(source.name, ledger)
    landed = (bronze.recorded() if bronze.head() is not None else None) or LandedOffsets()
    behind = _since_landing(source, ledger)
    return tuple(
        facts
        for topic in sorted(bounds, key=lambda one: one.topic)
        if (facts := _facts(topic, source, configs[topic.topic], landed, behind))
    )


def _facts(
    topic: TopicBounds,
    source: SourceConfig,
    config: Mapping[str, str],
    landed: LandedOffsets,
    behind_ms: int | None,
) -> TopicFacts | None:
    role = topic_role(source, topic.topic)
    progress = landed.topics.get(topic.topic)
    # Offsets of a topic that was made again say nothing of this one.
    known = progress is not None and progress.topic_id == topic.topic_id
    if role is None:
        return None
    return TopicFacts(
        name=topic.topic,
        role=role,
        partitions={one.partition: one.begin for one in topic.partitions},
        landed=dict(progress.next_offsets) if progress is not None and known else {},
        behind_ms=behind_ms,
        cleanup_policy=config["cleanup.policy"],
        retention_ms=int(config["retention.ms"]),
        retention_bytes=int(config["retention.bytes"]),
    )


def _since_landing(source: SourceConfig, ledger: Ledger) -> int | None:
    """Milliseconds since the last landing that succeeded."""
    done = [r for r in ledger.runs(source.name) if (r.step, r.status) == ("land", "succeeded")]
    if not done:
        return None
    return int((datetime.now(UTC) - done[-1].ended_at).total_seconds() * 1000)
