"""Waits until a source is read: a row that is written last, and all before it, is in Kafka.

A row of the signal table (Debezium's signal type `log`, which only writes a log line) is the
barrier. Connectors read one log in order, so all changes before it are on their way as soon as it
is there; `Arrivals` says when they have all come.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import orjson
from confluent_kafka import Consumer, Message, TopicPartition

from infra.clients import kafka_admin, run_sql
from infra.demo.arrivals import Arrivals, Payload
from infra.errors import StackError
from infra.sources import Database
from lakehouse.config import SourceConfig, select_topics
from lakehouse.envelope import CREATE

_DEADLINE_S = 180.0
# A barrier that has not come by now may never come, see `pass_one`.
_PATIENCE_S = 8.0
_POLL_S = 0.2
_MESSAGES_AT_ONCE = 1000


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
    _streamed: dict[int, str] = field(default_factory=dict, init=False)
    _arrivals: Arrivals = field(init=False)
    _next_offsets: dict[tuple[str, int], int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Begin the source's accounts."""
        self._arrivals = Arrivals(self.source)

    def pass_one(self) -> float:
        """Write a barrier and return when all changes before it can be landed.

        A barrier of the time before the source snapshot does not count: PostgreSQL's connector
        reads it before other tables, and MySQL's leaves the signal table out. So another one is
        written as long as none has come.

        Returns:
            How many seconds that took.

        Raises:
            StackError: None came out of Kafka in time.
        """
        begun = written = time.monotonic()
        first = self._written + 1
        self._write()
        admin = kafka_admin(self.bootstrap_servers)
        with self._consumer() as consumer:
            while not self._is_passed(first):
                now = time.monotonic()
                if now > begun + _DEADLINE_S:
                    raise self._late()
                if now > written + _PATIENCE_S and not self._streamed.keys() & self._since(first):
                    self._write()
                    written = now
                self._read(consumer, admin.topics())
        return time.monotonic() - begun

    def _write(self) -> None:
        self._written += 1
        barrier = f"{self._prefix}{self._written}"
        data = json.dumps({"message": barrier})
        run_sql(
            self.database,
            f"INSERT INTO {self.source.control_tables[0]} (id, type, data) "
            f"VALUES ('{barrier}', 'log', '{data}')",
        )

    def _since(self, first: int) -> set[int]:
        return set(range(first, self._written + 1))

    def _is_passed(self, first: int) -> bool:
        """Whether a barrier's transaction has ended and all that was counted has come."""
        mine = {self._streamed[n] for n in self._since(first) if n in self._streamed}
        return bool(mine & self._arrivals.ended) and self._arrivals.is_complete

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        """A consumer that goes on where the last one ended."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": "lakehouse-demo",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        try:
            consumer.assign([TopicPartition(*at, off) for at, off in self._next_offsets.items()])
            yield consumer
        finally:
            consumer.close()

    def _read(self, consumer: Consumer, found: Mapping[str, int]) -> None:
        """Account for what has come, of new ones among the cluster's topics too."""
        if self.cancelled.is_set():
            raise StackError(f"Wait for source {self.source.name!r} cancelled")
        places = {(t, n) for t in select_topics(self.source, found).topics for n in range(found[t])}
        new = sorted(places - self._next_offsets.keys())
        if new:
            consumer.incremental_assign([TopicPartition(*place, 0) for place in new])
            self._next_offsets |= dict.fromkeys(new, 0)
        for message in consumer.consume(_MESSAGES_AT_ONCE, _POLL_S):
            if not message.error():
                self._account(message)

    def _account(self, message: Message) -> None:
        topic, number, offset = message.topic(), message.partition(), message.offset()
        if topic is None or number is None or offset is None:
            return
        self._next_offsets[(topic, number)] = offset + 1
        payload = _payload(message.value())
        self._arrivals.add(topic, payload)
        after = payload.get("after")
        if payload.get("op") != CREATE or not isinstance(after, Mapping):
            return
        name, transaction = str(after.get("id")), self._arrivals.transaction_of(payload)
        if name.startswith(self._prefix) and transaction is not None:
            self._streamed[int(name.removeprefix(self._prefix))] = transaction

    def _late(self) -> StackError:
        return StackError(
            f"Source {self.source.name!r}: its barrier, or a change before it, did not reach Kafka "
            f"within {_DEADLINE_S:.0f} s: expected the connector to run; see `lakehouse status`"
        )


def _payload(value: bytes | None) -> Payload:
    message = orjson.loads(value) if value else {}
    payload = message.get("payload", message)
    return payload if isinstance(payload, dict) else {}
