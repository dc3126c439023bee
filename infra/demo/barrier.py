"""Waits until a source is read: a row that is written last has come out of Kafka.

A row of the signal table (Debezium's signal type `log`, which only writes a log line) is the
barrier. Connectors read one log in order, so all changes before it are in Kafka as soon as it is
there as a streamed event and its transaction's END is.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import Consumer, TopicPartition

from infra.clients import kafka_admin, run_sql
from infra.errors import StackError
from infra.sources import Database
from lakehouse.config import SourceConfig
from lakehouse.names import parse_table, topic_of

_DEADLINE_S = 180.0
_POLL_S = 0.2

# What a message's payload answers; None goes on to the next message.
Answer = Callable[[Mapping[str, object]], str | None]


@dataclass(slots=True)
class Barrier:
    """The barriers of one source.

    Attributes:
        cancelled: Ends every wait.
    """

    source: SourceConfig
    database: Database
    bootstrap_servers: str
    cancelled: threading.Event
    _number: int = field(default=0, init=False)
    _next_offsets: dict[str, int] = field(default_factory=dict, init=False)

    def pass_one(self) -> float:
        """Write a barrier and return when all changes before it can be landed.

        Returns:
            How many seconds that took.

        Raises:
            StackError: It did not come out of Kafka in time.
        """
        begun = time.monotonic()
        # A barrier that the source snapshot reads says nothing of the tables it reads later.
        while self._operation_of(self._write(), begun + _DEADLINE_S) == "r":
            pass
        if transactions := self.source.kafka.transactions:
            self._await(transactions, self._end, begun + _DEADLINE_S)
        return time.monotonic() - begun

    @property
    def _table(self) -> str:
        return self.source.control_tables[0]

    def _write(self) -> str:
        self._number += 1
        barrier = f"barrier-{self._number}"
        data = json.dumps({"message": barrier})
        run_sql(
            self.database,
            f"INSERT INTO {self._table} (id, type, data) VALUES ('{barrier}', 'log', '{data}')",
        )
        return barrier

    def _operation_of(self, barrier: str, deadline: float) -> str:
        def operation(payload: Mapping[str, object]) -> str | None:
            after = payload.get("after")
            is_it = isinstance(after, Mapping) and after.get("id") == barrier
            return str(payload.get("op")) if is_it else None

        connector = self.source.connector
        identity = parse_table(self._table, connector)
        topic = topic_of(identity, self.source.topic_prefix, connector)
        return self._await(topic, operation, deadline)

    def _end(self, payload: Mapping[str, object]) -> str | None:
        is_end = payload.get("status") == "END"
        return "END" if is_end and self._table in json.dumps(payload["data_collections"]) else None

    def _await(self, topic: str, answer: Answer, deadline: float) -> str:
        """Read a topic on from where the last wait ended, until a message has an answer."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": "lakehouse-demo",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        try:
            while topic not in kafka_admin(self.bootstrap_servers).topics():
                self._wait(topic, deadline)
            consumer.assign([TopicPartition(topic, 0, self._next_offsets.get(topic, 0))])
            while True:
                message = consumer.poll(_POLL_S)
                if message is None or message.error():
                    self._wait(topic, deadline)
                    continue
                self._next_offsets[topic] = (message.offset() or 0) + 1
                if found := answer(_payload(message.value())):
                    return found
        finally:
            consumer.close()

    def _wait(self, topic: str, deadline: float) -> None:
        if self.cancelled.wait(_POLL_S):
            raise StackError(f"Wait for source {self.source.name!r} cancelled")
        if time.monotonic() > deadline:
            raise StackError(
                f"Source {self.source.name!r}: its barrier did not reach topic {topic!r} within "
                f"{_DEADLINE_S:.0f} s: expected the connector to run; see `lakehouse status`"
            )


def _payload(value: bytes | None) -> Mapping[str, object]:
    message = json.loads(value) if value else {}
    payload = message.get("payload", message)
    return payload if isinstance(payload, dict) else {}
