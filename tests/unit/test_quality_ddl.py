"""Schema change events: read, and folded into versions."""

from __future__ import annotations

import pytest

from lakehouse.config import parse_source
from lakehouse.names import TableIdentity
from lakehouse.plan.schemas.renames import Rename
from lakehouse.quality.schemas.column_lives import column_renames, every_table
from lakehouse.quality.schemas.ddl import SchemaEvent, without_copies
from lakehouse.quality.schemas.version_rows import ddl_rows
from tests.support.schema_events import change, column, event

SHOP = parse_source('connector = "mysql"\ntopic_prefix = "shop"\n', "shop")


def kinds(*events: SchemaEvent) -> list[tuple[str, ...]]:
    return [row.change_kinds for row in ddl_rows(SHOP, "run", events, ())]


ID, NAME = column("id", optional=False), column("name", "VARCHAR", length=10)
CREATED = event(1, change("CREATE", ID, NAME))


def test_an_event_gives_the_whole_table_with_its_identity() -> None:
    (table,) = CREATED.changes

    assert table.identity == TableIdentity("shop", None, "orders")
    assert [(c.name, c.type_text, c.key) for c in table.columns] == [
        ("id", "INT", True),
        ("name", "VARCHAR(10)", False),
    ]


CASES = {
    "add_column": (ID, NAME, column("age")),
    "drop_column": (ID,),
    "reorder_columns": (NAME, ID),
    "widen_type": (ID, NAME | {"length": 20}),
    "narrow_type": (ID, NAME | {"length": 5}),
    "change_type": (ID, NAME | {"typeExpression": "TEXT", "length": None}),
    "nullability": (ID, NAME | {"optional": False}),
    "default": (ID, NAME | {"defaultValueExpression": "'x'"}),
    "character_set": (ID, NAME | {"charsetName": "utf8mb4"}),
    "comment": (ID, NAME | {"comment": "a name"}),
    "enum_values": (ID, NAME | {"enumValues": ["a", "b"]}),
}


@pytest.mark.parametrize("kind", CASES)
def test_a_change_has_its_kind(kind: str) -> None:
    changed = event(2, change("ALTER", *CASES[kind]))

    assert kinds(CREATED, changed) == [("create_table",), (kind,)]


def test_a_changed_key_has_its_kind() -> None:
    changed = event(2, change("ALTER", ID, NAME, key=("id", "name")))

    assert kinds(CREATED, changed)[1] == ("primary_key",)


def test_a_dropped_and_created_table_are_versions_and_repeats_are_none() -> None:
    events = (
        event(0, change("DROP"), ddl="DROP TABLE IF EXISTS orders", is_snapshot=True),
        CREATED,
        event(2, change("CREATE", ID, NAME)),
        event(3, change("DROP")),
        event(4, change("CREATE", ID)),
    )

    assert kinds(*events) == [("create_table",), ("drop_table",), ("create_table",)]


def test_a_rename_is_one_change_and_no_column_goes_or_comes() -> None:
    ddl = "ALTER TABLE orders RENAME COLUMN NAME TO title"
    renamed = event(2, change("ALTER", ID, NAME | {"name": "title"}), ddl=ddl)
    changed = event(
        2,
        change("ALTER", ID, NAME | {"name": "title", "length": 20}),
        ddl="ALTER TABLE orders CHANGE name title VARCHAR(20)",
    )

    assert kinds(CREATED, renamed)[1] == ("rename_column",)
    assert kinds(CREATED, changed)[1] == ("rename_column", "widen_type")
    rows = ddl_rows(SHOP, "run", (CREATED, renamed), ())
    assert column_renames(rows, "mysql", every_table) == {
        ("shop", "orders"): (Rename("0000000002", "NAME", "title"),)
    }


def test_a_masked_column_that_is_renamed_keeps_its_default_to_itself() -> None:
    source = parse_source(
        'connector = "mysql"\ntopic_prefix = "shop"\n'
        '[tables."shop.orders"]\ncolumns.name = { mask = "redact" }\n',
        "shop",
    )
    title = NAME | {"name": "title", "defaultValueExpression": "canary"}
    renamed = event(2, change("ALTER", ID, title), ddl="ALTER TABLE orders CHANGE name title INT")
    later = event(
        3, change("ALTER", ID, title, column("age")), ddl="ALTER TABLE orders ADD age INT"
    )

    rows = ddl_rows(source, "run", (CREATED, renamed, later), ())

    assert len(rows) == 3
    assert "canary" not in "".join(row.columns + row.ddl for row in rows)


def test_a_recorded_event_gives_no_second_row() -> None:
    rows = ddl_rows(SHOP, "run", (CREATED,), ())

    assert len(rows) == 1
    assert ddl_rows(SHOP, "later", (CREATED,), rows) == ()
    assert (rows[0].table, rows[0].ddl, rows[0].position) == (
        "shop__orders",
        "ALTER TABLE orders …",
        "0000000001",
    )


AGE = event(3, change("ALTER", ID, NAME, column("age")))


def test_a_run_that_reads_statements_again_records_no_second_version() -> None:
    index = event(2, change("ALTER", ID, NAME), ddl="CREATE INDEX by_name ON orders (name)")
    rows = ddl_rows(SHOP, "run", (CREATED, index, AGE), ())

    assert [row.change_kinds for row in rows] == [("create_table",), ("add_column",)]
    assert ddl_rows(SHOP, "later", (CREATED, index, AGE), rows) == ()


def test_statements_that_the_connector_sends_again_behind_later_ones_are_no_versions() -> None:
    renamed = event(4, change("ALTER", ID, NAME, table="sales"), ddl="RENAME TABLE orders TO sales")
    sent = (CREATED, AGE, renamed)
    again = [
        event(10 + at, ddl=each.ddl, document=each.message.document, position=each.message.position)
        for at, each in enumerate(sent)
    ]
    rows = ddl_rows(SHOP, "run", sent, ())

    assert ddl_rows(SHOP, "run", (*sent, *again), ())[len(rows) :] == ()
    assert ddl_rows(SHOP, "later", again, rows) == ()


def test_a_topic_that_was_created_again_begins_with_statements_that_are_new() -> None:
    rows = ddl_rows(SHOP, "run", (CREATED, AGE), ())
    anew = event(0, change("ALTER", ID), position="0000000009")

    (row,) = ddl_rows(SHOP, "later", (anew,), rows)

    assert row.change_kinds == ("drop_column",)


def test_statements_at_one_position_are_no_copies_of_each_other_unless_they_say_the_same() -> None:
    place = {"ddl": "N/A", "position": "0000000002"}
    wider = event(2, change("ALTER", ID, NAME, column("age")), **place)
    copy = event(3, change("ALTER", ID, NAME, column("age")), **place)
    narrower = event(4, change("ALTER", ID, column("age")), **place)

    assert without_copies([CREATED, wider, copy, narrower]) == (CREATED, wider, narrower)


BROKEN = [None, "", "[]", "1", "{}", '"text"', '{"source":{},"ddl":"","tableChanges":[{}]}']
BROKEN += ['{"source":{},"ddl":"","tableChanges":[{"type":"ALTER","id":"orders","table":null}]}']
BROKEN += ['{"source":{},"ddl":"","tableChanges":7}', '{"a":' * 5000 + "1" + "}" * 5000]


@pytest.mark.parametrize("document", BROKEN, ids=lambda text: str(text)[:20])
def test_a_broken_record_is_a_problem_and_never_an_error(document: str | None) -> None:
    broken = event(2, document=document)

    assert broken.problem
    assert broken.changes == ()
