"""Waits until a source is read: a row that is written last has come out of Kafka.

A row of the signal table (Debezium's signal type `log`, which only writes a log line) is the
barrier. Connectors read one log in order, so all changes before it are in Kafka as soon as it is
there as a streamed event and its transaction's END is.
"""

from __future__ import annotations

import json
import secrets
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
# A barrier that has not come by now may never come, see `pass_one`.
_PATIENCE_S = 8.0
_POLL_S = 0.2

# Whether a message's payload is the awaited one.
Answer = Callable[[Mapping[str, object]], bool]


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
    # The signal table may hold signals of others, and the barriers of before.
    _prefix: str = field(default_factory=lambda: f"barrier-{secrets.token_hex(4)}-", init=False)
    _written: int = field(default=0, init=False)
    _streamed: int = field(default=0, init=False)
    _ended: int = field(default=0, init=False)
    _next_offsets: dict[str, int] = field(default_factory=dict, init=False)

    def pass_one(self) -> float:
        """Write a barrier and return when all changes before it can be landed.

        A barrier of the time before the source snapshot does not count: PostgreSQL's connector
        reads it before other tables, and MySQL's leaves the signal table out.

        Returns:
            How many seconds that took.

        Raises:
            StackError: None came out of Kafka in time.
        """
        begun = time.monotonic()
        first = self._written + 1
        self._write()
        while not self._await(self._signal_topic, self._is_streamed(first), _PATIENCE_S):
            if time.monotonic() > begun + _DEADLINE_S:
                raise self._late(self._signal_topic)
            self._write()
        transactions = self.source.kafka.transactions
        if transactions and not self._await(transactions, self._is_last_end, _DEADLINE_S):
            raise self._late(transactions)
        return time.monotonic() - begun

    @property
    def _table(self) -> str:
        return self.source.control_tables[0]

    @property
    def _signal_topic(self) -> str:
        connector = self.source.connector
        return topic_of(parse_table(self._table, connector), self.source.topic_prefix, connector)

    def _write(self) -> None:
        self._written += 1
        barrier = f"{self._prefix}{self._written}"
        data = json.dumps({"message": barrier})
        run_sql(
            self.database,
            f"INSERT INTO {self._table} (id, type, data) VALUES ('{barrier}', 'log', '{data}')",
        )

    def _is_streamed(self, first: int) -> Answer:
        """Whether the event is a streamed barrier with this number or a higher one."""

        def is_streamed(payload: Mapping[str, object]) -> bool:
            after = payload.get("after")
            if payload.get("op") != "c" or not isinstance(after, Mapping):
                return False
            self._streamed += 1
            name = str(after.get("id"))
            return name.startswith(self._prefix) and int(name.removeprefix(self._prefix)) >= first

        return is_streamed

    def _is_last_end(self, payload: Mapping[str, object]) -> bool:
        """Whether the transaction of every barrier that was read so far has ended."""
        is_end = payload.get("status") == "END"
        if is_end and self._table in json.dumps(payload["data_collections"]):
            self._ended += 1
        return self._ended >= self._streamed

    def _await(self, topic: str, answer: Answer, seconds: float) -> bool:
        """Read a topic on from where the last wait ended; whether a message answered in time."""
        deadline = time.monotonic() + seconds
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
                if self._is_over(deadline):
                    return False
            consumer.assign([TopicPartition(topic, 0, self._next_offsets.get(topic, 0))])
            while True:
                message = consumer.poll(_POLL_S)
                if message is None or message.error():
                    if self._is_over(deadline):
                        return False
                    continue
                self._next_offsets[topic] = (message.offset() or 0) + 1
                if answer(_payload(message.value())):
                    return True
        finally:
            consumer.close()

    def _is_over(self, deadline: float) -> bool:
        if self.cancelled.wait(_POLL_S):
            raise StackError(f"Wait for source {self.source.name!r} cancelled")
        return time.monotonic() > deadline

    def _late(self, topic: str) -> StackError:
        return StackError(
            f"Source {self.source.name!r}: its barrier did not reach topic {topic!r} within "
            f"{_DEADLINE_S:.0f} s: expected the connector to run; see `lakehouse status`"
        )


def _payload(value: bytes | None) -> Mapping[str, object]:
    message = json.loads(value) if value else {}
    payload = message.get("payload", message)
    return payload if isinstance(payload, dict) else {}
