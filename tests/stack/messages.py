"""Reads topics of the stack whole, and waits for messages, always with a deadline."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, Producer, TopicPartition

from infra.clients import kafka_admin
from infra.connect_api import ConnectApi, ConnectorStatus

DEADLINE_S = 60


@dataclass(frozen=True)
class Message:
    """One message; payloads without their schema, None for a null key or a tombstone."""

    topic: str
    partition: int
    offset: int
    key: dict | None
    value: dict | None
    schema: dict | None
    headers: dict[str, str]

    @property
    def op(self) -> str | None:
        return None if self.value is None else self.value.get("op")

    @property
    def after(self) -> dict:
        return self.value["after"]


@dataclass(frozen=True)
class KafkaReader:
    bootstrap_servers: str
    connect: ConnectApi

    def read(self, topic: str) -> list[Message]:
        """Every message of a topic up to its end offsets of now; [] if there is no topic."""
        ends = kafka_admin(self.bootstrap_servers).end_offsets([topic])
        left = {part: end for part, end in ends.items() if end > 0}
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": "tests",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        found: list[Message] = []
        try:
            consumer.assign([TopicPartition(name, number, 0) for name, number in left])
            deadline = time.monotonic() + DEADLINE_S
            while left:
                assert time.monotonic() < deadline, f"{topic}: read {len(found)} of {ends}"
                raw = consumer.poll(0.2)
                if raw is None or raw.error():
                    continue
                found.append(_message(raw))
                if raw.offset() + 1 >= left.get((raw.topic(), raw.partition()), 0):
                    left.pop((raw.topic(), raw.partition()), None)
        finally:
            consumer.close()
        return found

    def write(self, topic: str, key: str, value: str) -> None:
        """Write one message."""
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        producer.produce(topic, value.encode(), key.encode())
        assert producer.flush(DEADLINE_S) == 0

    def await_messages(
        self, topic: str, is_enough: Callable[[Sequence[Message]], bool]
    ) -> list[Message]:
        """Every message of a topic as soon as they are enough."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            found = self.read(topic)
            if is_enough(found):
                return found
            assert time.monotonic() < deadline, (
                f"{topic} after {DEADLINE_S} s: {found[-5:]}; connectors: {self._connectors()}"
            )

    def _connectors(self) -> list[ConnectorStatus]:
        return [self.connect.status(name) for name in self.connect.connectors()]

    def await_key(
        self, topic: str, key: dict, is_enough: Callable[[Sequence[Message]], bool]
    ) -> list[Message]:
        """The messages of one key as soon as they are enough."""
        found = self.await_messages(
            topic, lambda all_of: is_enough([one for one in all_of if one.key == key])
        )
        return [one for one in found if one.key == key]


def _message(raw) -> Message:
    key = raw.key() and json.loads(raw.key())
    value = raw.value() and json.loads(raw.value())
    return Message(
        topic=raw.topic(),
        partition=raw.partition(),
        offset=raw.offset(),
        key=key and key.get("payload"),
        value=value and value.get("payload", value),
        schema=value and value.get("schema"),
        headers={name: bytes(text).decode() for name, text in raw.headers() or ()},
    )
