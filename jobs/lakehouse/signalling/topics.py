"""Reads a control topic of the source from where it is told, without a group's offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from lakehouse.config import client_properties
from lakehouse.errors import KafkaUnreachable
from lakehouse.plan.topics.kafka_faults import kafka_fault

_TIMEOUT_S = 15.0
_POLL_S = 0.5


@contextmanager
def consumer(
    properties: Mapping[str, str],
    topic: str,
    starts: Mapping[int, int],
    heard: Callable[[KafkaError], None] = lambda _: None,
) -> Iterator[Consumer]:
    """A consumer of topic partitions from their starts on; what is gone by now is passed over.

    Args:
        properties: librdkafka's.
        topic: The topic.
        starts: Topic partition → its first offset.
        heard: Told why no broker answers.
    """
    opened = Consumer(
        {
            **client_properties(properties),
            "group.id": "lakehouse-signal",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "log_level": 0,
            "error_cb": heard,
        }
    )
    try:
        opened.assign([TopicPartition(topic, number, at) for number, at in starts.items()])
        yield opened
    finally:
        opened.close()


def poll(opened: Consumer) -> Message | None:
    """The next message; None where none came in half a second.

    Raises:
        KafkaUnreachable: The login may not read it, which no waiting changes.
    """
    message = opened.poll(_POLL_S)
    if message is None or (error := message.error()) is None:
        return message
    if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        raise KafkaUnreachable(
            f"topic {message.topic()!r}: {error.str()}: expected the right Read on it; grant it to "
            "the login as in docs/grants.md"
        )
    return None


def end_offsets(properties: Mapping[str, str], topic: str) -> dict[int, int]:
    """The end offset of each partition of a topic; empty where there is no such topic.

    Raises:
        KafkaUnreachable: No broker answers.
    """
    reasons: list[str] = []
    with consumer(properties, topic, {}, lambda error: reasons.append(error.str())) as opened:
        try:
            found = opened.list_topics(timeout=_TIMEOUT_S).topics.get(topic)
            return {
                number: opened.get_watermark_offsets(
                    TopicPartition(topic, number), timeout=_TIMEOUT_S
                )[1]
                for number in (found.partitions if found else ())
            }
        except KafkaException as failure:
            opened.poll(0)
            sentence = kafka_fault(properties, [*reasons, str(failure)], f"topic {topic!r}")
            raise KafkaUnreachable(sentence) from failure


def read_all(properties: Mapping[str, str], topic: str) -> Iterator[Message]:
    """Every message that a topic holds now.

    Raises:
        KafkaUnreachable: No broker answers.
    """
    left = {number: end for number, end in end_offsets(properties, topic).items() if end}
    with consumer(properties, topic, dict.fromkeys(left, 0)) as opened:
        while left:
            message = poll(opened)
            for number in [n for n, end in left.items() if _at(opened, topic, n) >= end]:
                left.pop(number)
            if message is not None:
                yield message


def _at(opened: Consumer, topic: str, number: int) -> int:
    """Where a consumer is; below 0 before it has read anything."""
    [found] = opened.position([TopicPartition(topic, number)])
    return int(found.offset)
