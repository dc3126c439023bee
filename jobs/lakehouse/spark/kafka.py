"""Kafka as landing sees it: bounds of topic partitions, and messages by offset ranges.

In: client properties as librdkafka names them. Out: TopicBounds for the plan, and one DataFrame
of messages. Metadata is read by confluent-kafka, messages by Spark's batch source
(https://spark.apache.org/docs/4.1.0/streaming/structured-streaming-kafka-integration.html).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar, cast

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, not in __all__
    AdminClient,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.config import SourceConfig
from lakehouse.errors import ConfigError, LakehouseError
from lakehouse.plan.landing import landing_topics, reading_turns
from lakehouse.plan.offsets import (
    MESSAGES_PER_TASK,
    OffsetRange,
    PartitionBounds,
    TopicBounds,
)

_Answer = TypeVar("_Answer")
_Setting = str | int | float | bool

_TIMEOUT_S = 15.0
_SASL_MODULES: Mapping[str, str] = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


class KafkaUnreachable(LakehouseError):
    """No broker answered; nothing was landed."""

    exit_code = 7


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
    admin = _Admin(properties)
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
    return _Admin(properties).configs(topics)


def read_messages(
    spark: SparkSession, properties: Mapping[str, str], ranges: Sequence[OffsetRange]
) -> DataFrame:
    """The committed messages of offset ranges, as Kafka holds them.

    Columns: topic, partition, offset, timestamp, timestamp_type, key, value, headers (never null).
    """
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
        "maxRecordsPerPartition": str(MESSAGES_PER_TASK),
        "kafka.isolation.level": "read_committed",
        **{f"kafka.{name}": value for name, value in java_properties(properties).items()},
    }
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


def java_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The Java client's names for librdkafka's properties; tuning of librdkafka is left out.

    Raises:
        ConfigError: For a SASL mechanism that has no translation.
    """
    same = ("bootstrap.servers", "security.protocol", "client.id", "client.rack")
    found = {name: properties[name] for name in same if name in properties}
    if (authority := properties.get("ssl.ca.location")) is not None:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": authority}
    if (certificate := properties.get("ssl.certificate.location")) is not None:
        key = properties.get("ssl.key.location", certificate)
        found |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": Path(certificate).read_text(encoding="ascii"),
            "ssl.keystore.key": Path(key).read_text(encoding="ascii"),
        }
        if "ssl.key.password" in properties:
            found["ssl.key.password"] = properties["ssl.key.password"]
    if properties.get("ssl.endpoint.identification.algorithm") == "none":
        found["ssl.endpoint.identification.algorithm"] = ""
    return found | _sasl(properties)


def _sasl(properties: Mapping[str, str]) -> dict[str, str]:
    if not properties.get("security.protocol", "").upper().startswith("SASL"):
        return {}
    mechanism = properties.get("sasl.mechanism", properties.get("sasl.mechanisms", "GSSAPI"))
    if mechanism not in _SASL_MODULES:
        raise ConfigError(
            f"Kafka property sasl.mechanism {mechanism!r}: expected one of "
            f"{', '.join(_SASL_MODULES)}"
        )
    login = " ".join(
        f"{name}={_jaas_text(properties.get(f'sasl.{name}', ''))}"
        for name in ("username", "password")
    )
    return {
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{_SASL_MODULES[mechanism]} required {login};",
    }


def _jaas_text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class _Admin:
    """Kafka's admin interface with one error for all ways of not answering."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._address = properties["bootstrap.servers"]
        self._reasons: list[str] = []
        settings = {**properties, "error_cb": self._note, "log_level": 0}
        self._client = AdminClient(cast("dict[str, _Setting]", settings))

    def topics(self) -> tuple[str, ...]:
        try:
            found = self._client.list_topics(timeout=_TIMEOUT_S)
        except KafkaException as failure:
            raise self._unreachable(failure) from failure
        return tuple(sorted(found.topics))

    def describe(self, topics: Iterable[str]) -> tuple[dict[str, str], list[tuple[str, int]]]:
        """The topic ids, and all topic partitions, in the order of the topics."""
        wanted = list(topics)
        answers = self._client.describe_topics(TopicCollection(wanted), request_timeout=_TIMEOUT_S)
        ids: dict[str, str] = {}
        partitions: list[tuple[str, int]] = []
        for topic in wanted:
            found = self._result(answers[topic])
            ids[topic] = str(found.topic_id)
            partitions.extend((topic, partition.id) for partition in found.partitions)
        return ids, partitions

    def configs(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """The configuration of each topic, defaults included."""
        wanted = {ConfigResource(ResourceType.TOPIC, topic): topic for topic in topics}
        if not wanted:
            return {}
        answers = self._client.describe_configs(list(wanted), request_timeout=_TIMEOUT_S)
        return {
            wanted[resource]: {
                name: str(entry.value) for name, entry in self._result(answer).items()
            }
            for resource, answer in answers.items()
        }

    def offsets(
        self, partitions: Iterable[tuple[str, int]], which: OffsetSpec
    ) -> dict[tuple[str, int], int]:
        """One offset for each topic partition; -1 where no message is that late."""
        wanted = {TopicPartition(topic, number): which for topic, number in partitions}
        if not wanted:
            return {}
        answers = self._client.list_offsets(
            wanted,
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=_TIMEOUT_S,
        )
        return {
            (at.topic, at.partition): self._result(answer).offset for at, answer in answers.items()
        }

    def _result(self, answer: Future[_Answer]) -> _Answer:
        try:
            return answer.result(timeout=_TIMEOUT_S)
        except (KafkaException, TimeoutError) as failure:
            raise self._unreachable(failure) from failure

    def _note(self, error: KafkaError) -> None:
        self._reasons.append(error.str())

    def _unreachable(self, failure: Exception) -> KafkaUnreachable:
        self._client.poll(0)
        reason = self._reasons[0] if self._reasons else str(failure)
        return KafkaUnreachable(
            f"Kafka at {self._address!r}: no answer ({reason}): expected a broker there; start it "
            "(`lakehouse up` starts the local one), or correct the connection"
        )
