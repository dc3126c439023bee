"""Defaults of statements: what they declare, and the JSON that an event would have of it."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest

from lakehouse.connectors.mysql import MYSQL
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.tables import TablePlan, Version
from lakehouse.plan.batches.told_defaults import as_sent, with_told_defaults
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import WITHHELD
from lakehouse.plan.schemas.added_columns import AddedColumn, added_columns
from lakehouse.plan.schemas.connect_schema import parse_column
from lakehouse.plan.schemas.renames import Rename
from lakehouse.plan.schemas.schema import SchemaPlan, older_defaults


def alter(clauses: str) -> str:
    return f"ALTER TABLE shop.orders {clauses}"


@pytest.mark.parametrize(
    ("ddl", "expected"),
    [
        (
            alter("ADD COLUMN a VARCHAR(9) DEFAULT 'it''s'"),
            AddedColumn("a", "'it''s'", True, "it's"),
        ),
        (alter("ADD `a b` INT NOT NULL DEFAULT -1"), AddedColumn("a b", "-1", True, "-1", True)),
        (
            alter("ADD a TINYINT(1) DEFAULT TRUE, ALGORITHM=INSTANT"),
            AddedColumn("a", "TRUE", True, "1"),
        ),
        (alter("ADD a INT DEFAULT NULL"), AddedColumn("a")),
        (alter("ADD a INT NOT NULL"), AddedColumn("a", "", True, "0", True)),
        (alter("ADD a VARCHAR(9) NOT NULL"), AddedColumn("a", "", True, "", True)),
        (alter("ADD a ENUM('it''s', 'b') NOT NULL"), AddedColumn("a", "", True, "it's", True)),
        (alter("ADD a SET('a', 'b') NOT NULL"), AddedColumn("a", "", True, "", True)),
        (alter("ADD a BOOL NOT NULL"), AddedColumn("a", "", True, "0", True)),
        (alter("ADD a DATETIME NOT NULL"), AddedColumn("a", required=True)),
        (alter("ADD a VARBINARY(9) NOT NULL"), AddedColumn("a", required=True)),
        (alter("ADD a JSON NOT NULL"), AddedColumn("a", required=True)),
        (
            alter("ADD a INT GENERATED ALWAYS AS (id * 2) STORED"),
            AddedColumn("a", "GENERATED ALWAYS AS (id * 2) STORED"),
        ),
        (
            alter("ADD a INT AS (id + 1) VIRTUAL"),
            AddedColumn("a", "GENERATED ALWAYS AS (id + 1) VIRTUAL"),
        ),
        (alter("ADD a SERIAL"), AddedColumn("a", "SERIAL")),
        (
            alter("ADD a INT NOT NULL AUTO_INCREMENT UNIQUE"),
            AddedColumn("a", "AUTO_INCREMENT", required=True),
        ),
        (alter("ADD a DATETIME DEFAULT NOW()"), AddedColumn("a", "NOW()")),
        (alter("ADD a VARBINARY(9) DEFAULT 'abc'"), AddedColumn("a", "'abc'", True)),
        (alter("ADD a BIT(1) DEFAULT b'1'"), AddedColumn("a", "b'1'", True)),
        (alter("ADD a INT DEFAULT (5)"), AddedColumn("a", "5", True, "5")),
        (alter("ADD INDEX i (b), ADD a INT DEFAULT 3 AFTER b"), AddedColumn("a", "3", True, "3")),
    ],
)
def test_an_added_column_has_the_default_of_its_statement(ddl, expected):
    assert added_columns(ddl, "mysql", "Orders") == (expected,)


def test_oracle_gives_nothing_to_a_column_without_a_default():
    ddl = "ALTER TABLE INV.ORDERS ADD (N NUMBER(4) NOT NULL)"
    assert added_columns(ddl, "oracle", "ORDERS") == (AddedColumn("N", required=True),)


def test_oracles_brackets_hold_added_columns():
    ddl = "ALTER TABLE INV.ORDERS ADD (N NUMBER(4) DEFAULT 7 NOT NULL, V VARCHAR2(9) DEFAULT USER)"
    assert added_columns(ddl, "oracle", "ORDERS") == (
        AddedColumn("N", "7", True, "7", True),
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
        ("24", {"type": "int32", "name": f"{TIME}.Year"}),
        ("18446744073709551615", {"type": "int64"}),
        ("abc", {"type": "bytes"}),
    ],
)
def test_a_constant_that_an_event_would_write_otherwise_is_not_taken(constant, field):
    assert as_sent(constant, parse_column({**field, "field": "x"}, MYSQL)) is None


TEXT = {"type": "string"}
ENUM = {"type": "string", "name": "io.debezium.data.Enum"}


def plan_of(versions: tuple[Version, ...], renames: tuple[Rename, ...] = ()) -> TablePlan:
    return TablePlan(
        identity=TableIdentity("shop", None, "orders"),
        silver="silver_shop.shop__orders",
        exists=False,
        columns={},
        versions=versions,
        key=("id",),
        key_in_row=False,
        halves=False,
        schema=SchemaPlan(),
        renames=renames,
        renamed="",
        defaults=older_defaults((), [version.columns for version in versions]),
        start=Progress(),
        places=(),
        limits={},
        truncate="",
        placeholders=False,
    )


@pytest.mark.parametrize(
    ("clause", "field", "expected"),
    [
        ("DEFAULT 'new'", TEXT, "new"),
        # Another statement changed the default before the first event.
        ("DEFAULT 'new'", {**TEXT, "default": "newer"}, "new"),
        ("", {**TEXT, "default": "newer"}, None),
        ("DEFAULT (USER())", {**TEXT, "default": "root"}, None),
        # The events' schema has a value's own spelling.
        ("DEFAULT 'NEW'", {**ENUM, "default": "new"}, "new"),
        ("DEFAULT b'1'", {"type": "boolean", "default": True}, True),
        # What no statement says, whatever the default is later.
        ("NOT NULL", {"type": "int32", "default": 7}, 0),
    ],
)
def test_a_statement_tells_what_older_rows_have(clause, field, expected):
    key = parse_column({"field": "id", "type": "int32"}, MYSQL)
    added = parse_column({**field, "field": "a", "optional": True}, MYSQL)
    versions = Version(1, (key,), ("id",), {}), Version(2, (key, added), ("id",), {})
    plan = plan_of(versions)
    withheld = with_told_defaults(plan, [(WITHHELD, "orders")], "mysql")
    assert bool(withheld.stale) == ("a" not in plan.defaults)
    assert all("a statement that is withheld" in each.why for each in withheld.stale.values())
    found = with_told_defaults(plan, [(alter(f"ADD a INT {clause}"), "orders")], "mysql")
    default = found.defaults["a"].default if "a" in found.defaults else None
    assert (None if default is None else json.loads(default)) == expected
    assert list(found.stale) == (["a"] if "USER" in clause else [])
    required = replace(versions[1], columns=(key, replace(added, optional=False)))
    other = with_told_defaults(plan, [(alter("ADD b INT"), "orders")], "mysql")
    assert "no statement that could be read" in other.stale["a"].why
    untold = with_told_defaults(replace(plan, versions=(versions[0], required)), [], None)
    assert bool(untold.stale) == ("a" not in plan.defaults)


def test_a_column_that_waits_for_its_name_has_its_statements_default():
    key = parse_column({"field": "id", "type": "int32"}, MYSQL)
    old = parse_column({**TEXT, "field": "a"}, MYSQL)
    new = parse_column({"field": "a__coming", "type": "int32", "optional": True}, MYSQL)
    versions = Version(1, (key, old), ("id",), {}), Version(2, (key, new), ("id",), {})
    renames = Rename("2", "a", "a__dropped_1", goes=True), Rename("2", "a__coming", "a", comes=True)
    told = [(alter("DROP a"), "orders"), (alter("ADD a INT DEFAULT 5"), "orders")]

    found = with_told_defaults(plan_of(versions, renames), told, "mysql")

    assert {name: column.default for name, column in found.defaults.items()} == {"a__coming": "5"}
    assert found.stale == {}
