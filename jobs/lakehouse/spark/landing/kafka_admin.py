"""Kafka's metadata, read by confluent-kafka: topics, their ids, offsets and configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
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

from lakehouse.config import client_properties
from lakehouse.errors import ConfigError, KafkaUnreachable
from lakehouse.plan.topics.kafka_faults import kafka_fault

_Answer = TypeVar("_Answer")
_Setting = str | int | float | bool
_TIMEOUT_S = 15.0


class Admin:
    """Kafka's admin interface with one error for all ways of not answering.

    Each call raises KafkaUnreachable without an answer, or with one that refuses it; opening it
    raises ConfigError where brokers of other machines would be reached without TLS, or a property
    is none of librdkafka's.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties
        patience_ms = properties.get("socket.timeout.ms", "")
        self._timeout_s = min(_TIMEOUT_S, int(patience_ms or _TIMEOUT_S * 1000) / 1000)
        self._reasons: list[str] = []
        settings = {**client_properties(properties), "error_cb": self._note, "log_level": 0}
        try:
            self._client = AdminClient(cast("dict[str, _Setting]", settings))
        except KafkaException as refused:
            # It names the property, and of its value what it is no choice of.
            raise ConfigError(
                f"Kafka's client: {refused.args[0].str()}: expected properties of librdkafka "
                "(https://docs.confluent.io/platform/current/clients/librdkafka/html/"
                "md_CONFIGURATION.html)"
            ) from None

    def topics(self) -> tuple[str, ...]:
        """All topics of the cluster that the login may see."""
        try:
            found = self._client.list_topics(timeout=self._timeout_s)
        except KafkaException as failure:
            raise self._unreachable(failure, "the list of topics") from failure
        # What came before the answer explains nothing that comes behind it.
        self._reasons.clear()
        return tuple(sorted(found.topics))

    def describe(self, topics: Iterable[str]) -> tuple[dict[str, str], list[tuple[str, int]]]:
        """The topic ids, and all topic partitions, in the order of the topics."""
        wanted = list(topics)
        if not wanted:
            return {}, []
        answers = self._client.describe_topics(
            TopicCollection(wanted), request_timeout=self._timeout_s
        )
        ids: dict[str, str] = {}
        partitions: list[tuple[str, int]] = []
        for topic in wanted:
            found = self._result(answers[topic], f"topic {topic!r}")
            ids[topic] = str(found.topic_id)
            partitions.extend((topic, partition.id) for partition in found.partitions)
        return ids, partitions

    def configs(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """The configuration of each topic, defaults included."""
        wanted = {ConfigResource(ResourceType.TOPIC, topic): topic for topic in topics}
        if not wanted:
            return {}
        answers = self._client.describe_configs(list(wanted), request_timeout=self._timeout_s)
        return {
            (topic := wanted[resource]): {
                name: str(entry.value)
                for name, entry in self._result(answer, f"the settings of topic {topic!r}").items()
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
            request_timeout=self._timeout_s,
        )
        return {
            (at.topic, at.partition): self._result(answer, f"topic {at.topic!r}").offset
            for at, answer in answers.items()
        }

    def _result(self, answer: Future[_Answer], what: str) -> _Answer:
        try:
            return answer.result(timeout=self._timeout_s)
        except (KafkaException, TimeoutError) as failure:
            raise self._unreachable(failure, what) from failure

    def _note(self, error: KafkaError) -> None:
        self._reasons.append(error.str())

    def _unreachable(self, failure: Exception, what: str) -> KafkaUnreachable:
        self._client.poll(0)
        return KafkaUnreachable(kafka_fault(self._properties, (*self._reasons, str(failure)), what))
