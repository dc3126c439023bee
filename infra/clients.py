"""Small clients of the stack's servers: SQL connections and Kafka's admin interface.

Clients of a server that does not answer yet raise NotReady.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import psycopg
import pymysql
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._metadata import ClusterMetadata
from confluent_kafka.cimpl import NewTopic
from pymysql.constants import CLIENT

from infra.errors import NotReady
from infra.sources import Database, Engine
from infra.tls import DISABLE, Tls

_CONNECT_TIMEOUT_S = 5
# What MySQL's client does where nothing is said.
_UNENCRYPTED = Tls(DISABLE)


class Cursor(Protocol):
    """The part of a DB-API cursor that is used here."""

    def execute(self, query: str, args: Sequence[object] | None = None, /) -> object:
        """Run one statement."""

    def fetchall(self) -> Sequence[Sequence[object]]:
        """All rows of the last query."""

    def nextset(self) -> bool | None:
        """Go to the next result of a script."""


class Connection(Protocol):
    """The part of a DB-API connection that is used here; nothing is committed by itself."""

    def cursor(self) -> Cursor:
        """A new cursor."""

    def commit(self) -> object:
        """End the transaction and keep its changes."""

    def rollback(self) -> object:
        """End the transaction and drop its changes."""

    def close(self) -> object:
        """End the connection."""


@contextmanager
def connection(database: Database, *, autocommit: bool = False) -> Iterator[Connection]:
    """A connection that is closed at the end; without a commit its changes are lost.

    Raises:
        NotReady: the server refused it.
    """
    with closing(_open(database, autocommit=autocommit)) as opened:
        yield opened


def run_sql(database: Database, *scripts: str) -> None:
    """Run scripts one after the other, each committed; one may hold several statements."""
    # Nobody else needs several: a value that breaks out of its statement then starts no other.
    flags = CLIENT.MULTI_STATEMENTS
    with closing(_open(database, autocommit=True, mysql_flags=flags)) as opened:
        for script in scripts:
            cursor = opened.cursor()
            cursor.execute(script)
            while cursor.nextset():
                pass


def query(
    database: Database, sql: str, args: Sequence[object] | None = None
) -> list[tuple[object, ...]]:
    """The rows of one query."""
    with connection(database) as opened:
        cursor = opened.cursor()
        cursor.execute(sql, args)
        return [tuple(row) for row in cursor.fetchall()]


def _open(database: Database, *, autocommit: bool, mysql_flags: int = 0) -> Connection:
    try:
        if database.engine is Engine.POSTGRESQL:
            return _open_postgresql(database, autocommit=autocommit)
        return _open_mysql(database, autocommit=autocommit, flags=mysql_flags)
    except (psycopg.OperationalError, pymysql.MySQLError) as refused:
        raise NotReady(f"{database!r}: {refused}") from refused


def _open_postgresql(database: Database, *, autocommit: bool) -> Connection:
    tls = database.tls.libpq() if database.tls else {}
    options: dict[str, Any] = {"connect_timeout": _CONNECT_TIMEOUT_S, **tls}
    return psycopg.connect(
        host=database.host,
        port=database.port,
        user=database.user,
        password=database.password,
        dbname=database.database,
        autocommit=autocommit,
        **options,
    )


def _open_mysql(database: Database, *, autocommit: bool, flags: int) -> Connection:
    tls: dict[str, Any] = (database.tls or _UNENCRYPTED).pymysql()
    return pymysql.connect(
        host=database.host,
        port=database.port,
        user=database.user,
        password=database.password,
        database=database.database or None,
        connect_timeout=_CONNECT_TIMEOUT_S,
        charset="utf8mb4",
        autocommit=autocommit,
        client_flag=flags,
        **tls,
    )


@dataclass(frozen=True, slots=True)
class KafkaAdmin:
    """The admin calls that the stack needs; each raises NotReady without an answer."""

    admin: AdminClient
    properties: Mapping[str, str | int | float | bool]
    timeout_s: float

    def brokers(self) -> tuple[int, ...]:
        """The ids of the registered brokers."""
        return tuple(self._metadata().brokers)

    def topics(self) -> dict[str, int]:
        """All topics with their number of partitions."""
        found = self._metadata().topics
        return {name: len(topic.partitions) for name, topic in sorted(found.items())}

    def create_topic(
        self, name: str, *, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic if it does not exist yet."""
        if name not in self.topics():
            topic = NewTopic(name, partitions, 1, config=dict(config or {}))
            pending = self.admin.create_topics([topic])
            self._await(pending[name])

    def end_offsets(self, topics: Sequence[str]) -> dict[tuple[str, int], int]:
        """The end offset of each topic partition of these topics."""
        sizes = self.topics()
        consumer = Consumer({**self.properties, "group.id": "lakehouse-stack-status"})
        try:
            return {
                (topic, number): consumer.get_watermark_offsets(
                    TopicPartition(topic, number), timeout=self.timeout_s
                )[1]
                for topic in topics
                for number in range(sizes.get(topic, 0))
            }
        except KafkaException as broken:
            raise NotReady(f"end offsets: {broken}") from broken
        finally:
            consumer.close()

    def _metadata(self) -> ClusterMetadata:
        try:
            return self.admin.list_topics(timeout=self.timeout_s)
        except KafkaException as broken:
            raise NotReady(f"metadata request: {broken}") from broken

    def _await(self, pending: Future[None]) -> None:
        try:
            pending.result(timeout=self.timeout_s)
        except KafkaException as broken:
            raise NotReady(f"admin request: {broken}") from broken


def kafka_admin(bootstrap_servers: str, *, timeout_s: float = 10) -> KafkaAdmin:
    """Kafka's admin interface at an address; connects when it is first used."""
    properties: dict[str, str | int | float | bool] = {
        "bootstrap.servers": bootstrap_servers,
        # Refused connections are reported by the call that needs an answer.
        "log_level": "0",
        "reconnect.backoff.max.ms": "200",
    }
    return KafkaAdmin(AdminClient(properties), properties, timeout_s)
