"""Kafka as landing sees it: bounds of topic partitions, and messages by offset ranges.

In: client properties as librdkafka names them. Out: TopicBounds for the plan, and one DataFrame
of messages. Metadata is read by confluent-kafka, messages by Spark's batch source
(https://spark.apache.org/docs/4.1.0/streaming/structured-streaming-kafka-integration.html).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined] # public, not in __all__
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.config import SourceConfig
from lakehouse.plan.topics.landing import landing_topics, reading_turns
from lakehouse.plan.topics.offsets import (
    OffsetRange,
    PartitionBounds,
    TopicBounds,
    landing_tasks,
    messages_per_task,
    parted,
)
from lakehouse.spark.landing.kafka_admin import Admin
from lakehouse.spark.landing.kafka_properties import java_properties


@dataclass(frozen=True, slots=True)
class KafkaTopics:
    """What a cluster holds for a source.

    Attributes:
        existing: All topics of the cluster.
        bounds: The bounds of those that the source lands.
    """

    existing: tuple[str, ...]
    bounds: tuple[TopicBounds, ...]


def read_topics(
    source: SourceConfig, properties: Mapping[str, str], until: datetime | None = None
) -> KafkaTopics:
    """Read the bounds of a source's topics, their end offsets in turns (`reading_turns`).

    Args:
        source: It selects the topics.
        properties: librdkafka properties.
        until: The data interval's end: offsets from the first message at or after it are left.

    Raises:
        KafkaUnreachable: If no broker answers.
        LandingRefused: If no topic is the source's.
    """
    admin = Admin(properties)
    existing = admin.topics()
    topics = landing_topics(source, existing)
    ids, partitions = admin.describe(topics)
    latest, earliest = OffsetSpec.latest(), OffsetSpec.earliest()  # type: ignore[no-untyped-call]
    ends: dict[tuple[str, int], int] = {}
    for pairs in reading_turns(source, partitions):
        ends |= admin.offsets(pairs, latest)
    begins = admin.offsets(partitions, earliest)
    limits = {}
    if until is not None:
        at_ms = OffsetSpec.for_timestamp(int(until.timestamp() * 1000))
        found = admin.offsets(partitions, at_ms)
        limits = {pair: offset for pair, offset in found.items() if offset >= 0}
    bounds: dict[str, list[PartitionBounds]] = defaultdict(list)
    for pair in sorted(partitions):
        bounds[pair[0]].append(PartitionBounds(pair[1], begins[pair], ends[pair], limits.get(pair)))
    return KafkaTopics(
        existing, tuple(TopicBounds(topic, ids[topic], tuple(bounds[topic])) for topic in topics)
    )


def read_topic_configs(
    properties: Mapping[str, str], topics: Iterable[str]
) -> dict[str, dict[str, str]]:
    """The configuration of topics, as the cluster applies it.

    Raises:
        KafkaUnreachable: If no broker answers.
    """
    return Admin(properties).configs(topics)


def read_topic_ids(properties: Mapping[str, str], topics: Iterable[str]) -> dict[str, str]:
    """The ids of topics: another one is another topic, whatever its name.

    Raises:
        KafkaUnreachable: If no broker answers, or a topic is not there.
    """
    return Admin(properties).describe(topics)[0]


def read_messages(
    spark: SparkSession, properties: Mapping[str, str], ranges: Sequence[OffsetRange]
) -> DataFrame:
    """The committed messages of offset ranges, as Kafka holds them, in `landing_tasks` partitions.

    Columns: topic, partition, offset, timestamp, timestamp_type, key, value, headers (never null).
    """
    per_task = messages_per_task(ranges, spark.sparkContext.defaultParallelism)
    alone, shared = parted(ranges, per_task)
    frames = [_read(spark, properties, alone, per_task)] if alone else []
    if shared or not frames:
        # Spark puts neighbours together, whatever their sizes are.
        tasks = landing_tasks(shared, per_task)
        frames.append(_read(spark, properties, shared, per_task).coalesce(tasks))
    return reduce(DataFrame.unionAll, frames)


def _read(
    spark: SparkSession,
    properties: Mapping[str, str],
    ranges: Sequence[OffsetRange],
    per_task: int,
) -> DataFrame:
    assigned: dict[str, list[int]] = defaultdict(list)
    starts: dict[str, dict[str, int]] = defaultdict(dict)
    ends: dict[str, dict[str, int]] = defaultdict(dict)
    for each in ranges:
        assigned[each.topic].append(each.partition)
        starts[each.topic][str(each.partition)] = each.start
        ends[each.topic][str(each.partition)] = each.end
    options = {
        "assign": json.dumps(assigned),
        "startingOffsets": json.dumps(starts),
        "endingOffsets": json.dumps(ends),
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        "maxRecordsPerPartition": str(per_task),
        # All that is read is there. A consumer that is closed waits for what it has asked for
        # meanwhile, half a second for each topic partition that holds more than one answer.
        "kafka.fetch.max.wait.ms": "20",
        "kafka.isolation.level": "read_committed",
        **{f"kafka.{name}": value for name, value in java_properties(properties).items()},
    }
    if (patience_ms := properties.get("socket.timeout.ms")) is not None:
        options["kafkaConsumer.pollTimeoutMs"] = patience_ms
    messages = spark.read.format("kafka").options(**options).load()
    return messages.select(
        "topic",
        "partition",
        "offset",
        "timestamp",
        F.col("timestampType").alias("timestamp_type"),
        "key",
        "value",
        F.coalesce("headers", F.array().cast("array<struct<key: string, value: binary>>")).alias(
            "headers"
        ),
    )
