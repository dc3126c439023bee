"""Defaults of statements: what they declare, and the JSON that an event would have of it."""

from __future__ import annotations

import base64
import json

import pytest

from lakehouse.connectors import MYSQL
from lakehouse.plan.statements import AddedColumn, added_columns
from lakehouse.plan.told_defaults import as_sent
from lakehouse.plan.types import parse_column


def alter(clauses: str) -> str:
    return f"ALTER TABLE shop.orders {clauses}"


@pytest.mark.parametrize(
    ("ddl", "expected"),
    [
        (alter("ADD COLUMN a VARCHAR(9) DEFAULT 'it''s'"), AddedColumn("a", "'it''s'", "it's")),
        (alter("ADD `a b` INT NOT NULL DEFAULT -1"), AddedColumn("a b", "-1", "-1", required=True)),
        (alter("ADD a TINYINT(1) DEFAULT TRUE, ALGORITHM=INSTANT"), AddedColumn("a", "TRUE", "1")),
        (alter("ADD a INT DEFAULT NULL"), AddedColumn("a")),
        (alter("ADD a INT NOT NULL"), AddedColumn("a", required=True)),
        (alter("ADD a DATETIME DEFAULT NOW()"), AddedColumn("a", "NOW()")),
        (alter("ADD a VARBINARY(9) DEFAULT 'abc'"), AddedColumn("a", "'abc'")),
        (alter("ADD INDEX i (b), ADD a INT DEFAULT 3 AFTER b"), AddedColumn("a", "3", "3")),
    ],
)
def test_an_added_column_has_the_default_of_its_statement(ddl, expected):
    assert added_columns(ddl, "mysql", "Orders") == (expected,)


def test_oracles_brackets_hold_added_columns():
    ddl = "ALTER TABLE INV.ORDERS ADD (N NUMBER(4) DEFAULT 7 NOT NULL, V VARCHAR2(9) DEFAULT USER)"
    assert added_columns(ddl, "oracle", "ORDERS") == (
        AddedColumn("N", "7", "7", required=True),
        AddedColumn("V", "USER"),
    )


@pytest.mark.parametrize(
    "ddl",
    [
        alter("MODIFY a VARCHAR(9) DEFAULT 'x'"),
        alter("CHANGE a b VARCHAR(9) DEFAULT 'x'"),
        "ALTER TABLE shop.others ADD a INT DEFAULT 1",
        "CREATE TABLE shop.orders (added INT DEFAULT 1)",
        alter("ADD a INT DEFAULT 'unclosed"),
        "no SQL, but add",
    ],
)
def test_other_statements_add_no_column(ddl):
    assert added_columns(ddl, "mysql", "orders") == ()


DECIMAL = {
    "type": "bytes",
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2", "connect.decimal.precision": "9"},
}
TIME = "io.debezium.time"


@pytest.mark.parametrize(
    ("constant", "field", "expected"),
    [
        ("new", {"type": "string"}, "new"),
        ("-7", {"type": "int64"}, -7),
        ("7", {"type": "int16"}, 7),
        ("1.5", {"type": "double"}, 1.5),
        ("1", {"type": "boolean"}, True),
        ("-1.5", DECIMAL, base64.b64encode(b"\xff\x6a").decode()),
        ("1970-01-03", {"type": "int32", "name": f"{TIME}.Date"}, 2),
        ("1970-01-01 00:00:01", {"type": "int64", "name": f"{TIME}.Timestamp"}, 1000),
        ("1970-01-01 00:00:01.5", {"type": "int64", "name": f"{TIME}.MicroTimestamp"}, 1_500_000),
        ("2024", {"type": "int32", "name": f"{TIME}.Year"}, 2024),
        ("18446744073709551615", {"type": "int64", "tidb_type": "bigint unsigned"}, 2**64 - 1),
    ],
)
def test_a_constant_becomes_what_an_event_would_have(constant, field, expected):
    token = as_sent(constant, parse_column({**field, "field": "x"}, MYSQL))
    assert token is not None
    assert json.loads(token) == expected


@pytest.mark.parametrize(
    ("constant", "field"),
    [
        ("seven", {"type": "int32"}),
        ("1.555", DECIMAL),
        ("0000-00-00", {"type": "int32", "name": f"{TIME}.Date"}),
        ("10:00:00", {"type": "int64", "name": f"{TIME}.MicroTime"}),
        ("2024-01-01 00:00:00", {"type": "string", "name": f"{TIME}.ZonedTimestamp"}),
        ("maybe", {"type": "boolean"}),
        ("abc", {"type": "bytes"}),
    ],
)
def test_a_constant_that_an_event_would_write_otherwise_is_not_taken(constant, field):
    assert as_sent(constant, parse_column({**field, "field": "x"}, MYSQL)) is None
