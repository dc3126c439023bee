"""Each login of the stack does its work, and is refused what is not its work."""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
import pymysql
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from infra.clients import query, run_sql
from infra.kafka_logins import CONNECT, LAKEHOUSE
from infra.registrations import SIGNAL_TABLE
from infra.sources import DEBEZIUM, SAMPLE_SOURCES, Database, Engine
from lakehouse.config.kafka import client_properties, kafka_properties
from lakehouse.inspection.addresses import database_of, signals_of
from lakehouse.spark.landing.kafka import read_topics
from tests.stack.conftest import Stack

REFUSED = (psycopg.errors.InsufficientPrivilege, pymysql.err.OperationalError)
# MySQL and MariaDB: no right to the table, to the database, to the command.
CODES = (1044, 1142, 1227, 1370)
WRITES = (
    "INSERT INTO customers SELECT * FROM customers",
    "DELETE FROM customers",
    "UPDATE customers SET name = 'x'",
    "CREATE TABLE made (id int)",
    "DROP TABLE customers",
)
SIGNAL = f"INSERT INTO {SIGNAL_TABLE} (id, type, data) VALUES ('granted', 'log', '{{}}')"


def refused(login: Database, statement: str) -> bool:
    """Whether the server refuses a statement for want of a right, and for nothing else."""
    try:
        run_sql(login, statement)
    except REFUSED as error:
        return not isinstance(error, pymysql.err.OperationalError) or error.args[0] in CODES
    return False


def capture(stack: Stack, name: str) -> Database:
    found = stack.database(name)
    password = stack.home.passwords()["debezium"]
    return Database(found.engine, found.port, DEBEZIUM, password, found.database)


@pytest.mark.parametrize("name", SAMPLE_SOURCES)
def test_who_reads_writes_nothing(stack: Stack, name: str) -> None:
    login = database_of(stack.source(name), stack.settings, {})
    assert login is not None
    table = "articles" if name == "warehouse" else "customers"
    assert query(login, f"SELECT count(*) FROM {table}")[0][0] > 0
    writes = [each.replace("customers", table) for each in (*WRITES, SIGNAL)]
    assert [each for each in writes if not refused(login, each)] == []


@pytest.mark.parametrize("name", SAMPLE_SOURCES)
def test_who_signals_reads_nothing(stack: Stack, name: str) -> None:
    login = signals_of(stack.source(name), stack.settings, {})
    assert login is not None
    table = "articles" if name == "warehouse" else "customers"
    asked = [each.replace("customers", table) for each in WRITES]
    asked += [f"SELECT * FROM {table}", f"SELECT * FROM {SIGNAL_TABLE}"]
    asked += [f"DELETE FROM {SIGNAL_TABLE}"]
    assert [each for each in asked if not refused(login, each)] == []
    run_sql(login, SIGNAL)
    run_sql(stack.database(name), f"DELETE FROM {SIGNAL_TABLE} WHERE id = 'granted'")


@pytest.mark.parametrize("name", SAMPLE_SOURCES)
def test_who_captures_writes_signals_alone(stack: Stack, name: str) -> None:
    login = capture(stack, name)
    table = "articles" if name == "warehouse" else "customers"
    writes = [each.replace("customers", table) for each in WRITES]
    assert [each for each in writes if not refused(login, each)] == []


def test_no_login_is_a_superuser(stack: Stack) -> None:
    login = stack.database("inventory")
    assert login.engine is Engine.POSTGRESQL
    roles = query(login, "SELECT rolname FROM pg_roles WHERE rolsuper OR rolcreaterole")
    assert {role for (role,) in roles}.isdisjoint(
        {DEBEZIUM, "lakehouse_reader", "lakehouse_signals"}
    )


@pytest.mark.parametrize("name", ["shop", "warehouse"])
def test_only_a_script_holds_several_statements(stack: Stack, name: str) -> None:
    login = stack.database(name)
    with pytest.raises(pymysql.err.ProgrammingError, match="syntax"):
        query(login, "SELECT 1; SELECT 2")
    assert query(login, "SELECT 1") == [(1,)]
    run_sql(login, "SELECT 1; SELECT 2")


@pytest.mark.parametrize("name", SAMPLE_SOURCES)
def test_the_lakehouse_reads_its_topics_and_writes_none_of_them(stack: Stack, name: str) -> None:
    source = stack.source(name)
    properties = kafka_properties(source, stack.settings, {})
    assert properties["sasl.username"] == LAKEHOUSE
    mine = {topic for topic in stack.topics() if topic.startswith(f"{name}.")}
    assert mine
    assert mine <= {bounds.topic for bounds in read_topics(source, properties).bounds}
    login = client_properties(properties)
    topic, admin = min(mine), AdminClient({**login, "log_level": "0"})
    assert write(login, topic) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    made = admin.create_topics([NewTopic(f"{name}.public.made", 1, 1)])
    for pending in (*made.values(), *admin.delete_topics([topic]).values()):
        with pytest.raises(KafkaException) as refused:
            pending.result(30)
        assert refused.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_the_lakehouse_sees_no_topics_of_others(stack: Stack) -> None:
    login = client_properties(kafka_properties(stack.source("shop"), stack.settings, {}))
    seen = AdminClient({**login, "log_level": "0"}).list_topics(timeout=30).topics
    assert {"connect-config", "connect-offset", "connect-status"} <= stack.topics().keys()
    assert [topic for topic in seen if topic.startswith("connect-")] == []


def test_connect_writes_what_its_connectors_send_and_reads_no_rows(stack: Stack) -> None:
    config = stack.connect.config("shop")
    assert CONNECT in config["schema.history.internal.producer.sasl.jaas.config"]
    password = stack.home.passwords()[CONNECT]
    assert password not in str(config)
    lakehouse = client_properties(kafka_properties(stack.source("shop"), stack.settings, {}))
    login = {**lakehouse, "sasl.username": CONNECT, "sasl.password": password}
    assert write(login, "signals.shop") == KafkaError.TOPIC_AUTHORIZATION_FAILED
    admin = AdminClient({**login, "log_level": "0"})
    for pending in admin.delete_topics(["shop.shop.customers"]).values():
        with pytest.raises(KafkaException) as refused:
            pending.result(30)
        assert refused.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def write(login: Mapping[str, str], topic: str) -> int:
    """What the broker answers who writes to a topic."""
    answers: list[int] = []
    producer = Producer({**login, "log_level": 0})
    producer.produce(topic, b"{}", on_delivery=lambda error, _: answers.append(error.code()))
    producer.flush(30)
    return answers[0]
