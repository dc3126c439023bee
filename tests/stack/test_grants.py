"""Each login of the stack does its work, and is refused what is not its work."""

from __future__ import annotations

import psycopg
import pymysql
import pytest

from infra.clients import query, run_sql
from infra.registrations import SIGNAL_TABLE
from infra.sources import DEBEZIUM, SAMPLE_SOURCES, Database, Engine
from lakehouse.inspection.addresses import database_of, signals_of
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
