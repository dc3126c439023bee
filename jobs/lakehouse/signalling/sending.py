"""Puts a signal into the signal table or the signal topic, once for each id."""

from __future__ import annotations

import json
from collections.abc import Mapping

import psycopg
import pymysql
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from infra.clients import Connection, connection
from infra.errors import NotReady
from infra.sources import Database, Engine
from lakehouse.config import SourceConfig, client_properties
from lakehouse.errors import SignalRefused, first_line
from lakehouse.failpoints import reach
from lakehouse.plan.signals.record import Signal
from lakehouse.plan.signals.statement import insert_with_parameters
from lakehouse.signalling.topics import end_offsets, read_all

_TIMEOUT_S = 30.0
# A server that cuts what is too long would leave JSON that the connector cannot read.
_STRICT = "SET SESSION sql_mode = CONCAT(@@SESSION.sql_mode, ',STRICT_ALL_TABLES')"


def send_by_table(
    database: Database, table: tuple[str, ...], source: SourceConfig, signal: Signal
) -> bool:
    """Insert the signal.

    Returns:
        Whether it is new; a signal of this id that is there already is not sent again.

    Raises:
        SignalRefused: The database does not answer, or does not take it.
    """
    statement = insert_with_parameters(table, source.connector)
    try:
        with connection(database) as opened:
            if database.engine is not Engine.POSTGRESQL:
                opened.cursor().execute(_STRICT)
            opened.cursor().execute(statement, (signal.id, signal.type, signal.data))
            reach("before_commit")
            _commit(opened, table, signal)
            reach("after_commit")
    except (psycopg.errors.UniqueViolation, pymysql.err.IntegrityError):
        return False
    except (NotReady, psycopg.Error, pymysql.MySQLError) as refused:
        raise SignalRefused(
            f"signal table {'.'.join(table)} of {database!r}: {refused}: expected a table with the "
            "text columns id, type and data, wide enough, and a login that may insert into it"
        ) from refused
    return True


def _commit(opened: Connection, table: tuple[str, ...], signal: Signal) -> None:
    """Commit the signal.

    Raises:
        SignalRefused: The connection broke: whether the database has the signal is not known.
    """
    try:
        opened.commit()
    except (psycopg.OperationalError, pymysql.err.OperationalError) as broken:
        raise SignalRefused(
            f"signal {signal.id}: it may be sent: the database did not answer when it was to be "
            f"committed to table {'.'.join(table)} ({first_line(broken)}): expected an answer; "
            f"send it again with `--id {signal.id}`, which sends no second one"
        ) from broken


def send_by_topic(
    properties: Mapping[str, str], topic: str, source: SourceConfig, signal: Signal
) -> bool:
    """Write the signal to the first partition, which is the one that the connector reads.

    Returns:
        Whether it is new; a signal of this id that is there already is not sent again.

    Raises:
        KafkaUnreachable: No broker answers.
        SignalRefused: There is no such topic, or the broker does not take it.
    """
    if not end_offsets(properties, topic):
        raise SignalRefused(
            f"signal topic {topic!r}: not there, or hidden from the login: expected a topic with "
            "one partition; create it, and restart the connector if it was started without it, or "
            "grant the login Read and Write on it (docs/grants.md)"
        )
    if any(_id_of(message) == signal.id for message in read_all(properties, topic)):
        return False
    refusals: list[str] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        refusals.extend([] if error is None else [error.str()])

    producer = Producer({**client_properties(properties), "acks": "all", "log_level": 0})
    reach("before_commit")
    try:
        producer.produce(
            topic,
            signal.message.encode(),
            source.topic_prefix.encode(),
            partition=0,
            on_delivery=delivered,
        )
        if producer.flush(_TIMEOUT_S):
            refusals.append(f"no answer within {_TIMEOUT_S:.0f} s")
    except (KafkaException, BufferError) as failure:
        refusals.append(str(failure))
    if refusals:
        raise SignalRefused(
            f"signal topic {topic!r}: {refusals[0]}: expected to be allowed to write to it; grant "
            "the login Read and Write on it (docs/grants.md)"
        )
    reach("after_commit")
    return True


def _id_of(message: Message) -> str | None:
    try:
        found = json.loads(message.value() or b"")
    except ValueError:
        return None
    return str(found.get("id")) if isinstance(found, dict) else None
