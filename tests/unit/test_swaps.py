"""Tables that one statement puts in the place of others: the messages of MySQL and MariaDB."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lakehouse.quality.schemas.ddl import SchemaEvent, SchemaMessage, parse_event
from lakehouse.quality.schemas.statements import incarnations
from lakehouse.quality.schemas.version_rows import ddl_rows
from tests.unit.test_quality_ddl import ID, NAME, SHOP, column

WIDE = column("name", "VARCHAR", length=20)


def sent(
    offset: int, position: int, ddl: str, table: str, *columns: dict, database: str = "shop"
) -> SchemaEvent:
    """A message about one table; one without columns is not there afterwards."""
    after = {"primaryKeyColumnNames": ["id"], "columns": list(columns)} if columns else None
    kind = "CREATE" if ddl.startswith("CREATE") else "ALTER"
    change = {"type": kind, "id": f'"{database}"."{table}"', "table": after}
    document = json.dumps({"source": {}, "ddl": ddl, "tableChanges": [change]})
    return parse_event(SchemaMessage("shop", 0, offset, f"{position:010d}", document), "mysql")


CREATED = sent(1, 1, "CREATE TABLE orders (…)", "orders", ID, NAME)
GHOST = sent(2, 2, "CREATE TABLE _orders_gho (…)", "_orders_gho", ID, WIDE)
ASIDE = sent(3, 3, "RENAME TABLE orders TO _orders_del", "_orders_del", ID, NAME)
TAKEN = sent(4, 3, "RENAME TABLE _orders_gho TO orders", "orders", ID, WIDE)


def told(*events: SchemaEvent) -> list[tuple[str, tuple[str, ...]]]:
    rows = ddl_rows(SHOP, "run", events, ())
    return [(row.source_table.table, row.change_kinds) for row in rows]


def test_an_online_schema_change_is_one_of_the_table_whose_place_is_taken():
    assert told(CREATED, GHOST, ASIDE, TAKEN)[2:] == [
        ("_orders_del", ("create_table",)),
        ("_orders_gho", ("drop_table",)),
        ("orders", ("swap_table", "widen_type")),
    ]
    lives = incarnations(ddl_rows(SHOP, "run", (CREATED, GHOST, ASIDE, TAKEN), ()), "mysql")
    assert set(lives.ends) == {("shop", "_orders_gho")}


def test_it_is_one_too_where_the_connector_captures_the_table_alone():
    assert told(CREATED, TAKEN)[1:] == [("orders", ("swap_table", "widen_type"))]


def test_the_same_renames_one_after_the_other_move_the_rows():
    taken_later = sent(4, 4, "RENAME TABLE _orders_gho TO orders", "orders", ID, WIDE)

    assert told(CREATED, GHOST, ASIDE, taken_later)[2:] == [
        ("_orders_del", ("rename_table",)),
        ("orders", ("rename_table",)),
    ]


def test_two_tables_that_exchange_their_names_wait_for_a_person():
    other = sent(2, 2, "CREATE TABLE other (…)", "other", ID, WIDE)
    exchange = (
        sent(3, 3, "RENAME TABLE orders TO x", "x"),
        sent(4, 3, "RENAME TABLE other TO orders", "orders", ID, WIDE),
        sent(5, 3, "RENAME TABLE x TO other", "other", ID, NAME),
    )

    assert told(CREATED, other, *exchange)[2:] == [
        ("orders", ("swap_table", "widen_type")),
        ("other", ("swap_table", "narrow_type")),
    ]
    rows = ddl_rows(SHOP, "run", (CREATED, other, *exchange), ())
    assert [row.verdict for row in rows] == ["evolve", "evolve", "hold", "hold"]
    assert "lakehouse signal" in rows[-1].reason


LONG = "o" * 62


@pytest.mark.parametrize(
    ("other", "name", "verdict"),
    [
        ("_orders_gho", "orders", "evolve"),
        ("__orders_new", "orders", "evolve"),
        ("__osc_new_orders", "orders", "evolve"),
        ("lhmn_orders", "orders", "evolve"),
        (f"_{LONG[:59]}_gho", LONG, "evolve"),
        # A log that is rotated; the name of another table's copy.
        ("orders_new", "orders", "hold"),
        ("_sales_gho", "orders", "hold"),
        (f"_{LONG[:58]}_gho", LONG, "hold"),
    ],
)
def test_only_the_name_of_a_tool_tells_that_the_rows_are_the_same(
    other: str, name: str, verdict: str
):
    events = (
        sent(1, 1, f"CREATE TABLE {name} (…)", name, ID, NAME),
        sent(2, 2, f"CREATE TABLE {other} (…)", other, ID, NAME),
        sent(3, 3, f"RENAME TABLE {name} TO aside", "aside", ID, NAME),
        sent(4, 3, f"RENAME TABLE {other} TO {name}", name, ID, NAME),
    )
    for captured in (events, (events[0], events[3])):
        row = ddl_rows(SHOP, "run", captured, ())[-1]
        assert (row.change_kinds, row.verdict) == (("swap_table",), verdict)


def test_a_name_that_a_table_has_left_is_free_in_later_runs_too():
    away = sent(3, 3, "RENAME TABLE orders TO sales", "sales", ID, NAME)
    back = sent(4, 4, "RENAME TABLE _orders_gho TO orders", "orders", ID, WIDE)
    rows = ddl_rows(SHOP, "run", (CREATED, GHOST, away), ())

    (taken,) = ddl_rows(SHOP, "later", (back,), rows)
    (created,) = ddl_rows(SHOP, "later", (sent(5, 5, "CREATE TABLE orders", "orders", ID),), rows)

    assert taken.change_kinds == ("rename_table",)
    assert created.change_kinds == ("create_table",)


def test_a_decision_about_a_statement_changes_nothing_of_what_came_after_it():
    wider = sent(2, 2, "ALTER TABLE orders …", "orders", ID, WIDE)
    rows = ddl_rows(SHOP, "run", (CREATED, wider), ())
    again = sent(3, 3, "ALTER TABLE orders …", "orders", ID, WIDE, column("age"))

    (row,) = ddl_rows(SHOP, "later", (again,), (*rows, replace(rows[0], decision="ann")))

    assert row.change_kinds == ("add_column",)


def test_a_table_that_goes_to_another_database_takes_the_place_of_none():
    there = sent(2, 2, "CREATE TABLE e.orders (…)", "orders", ID, WIDE, database="e")
    gone = sent(3, 3, "DROP TABLE e.orders", "orders", database="e")
    moved = sent(4, 4, "RENAME TABLE shop.orders TO e.orders", "orders", ID, NAME, database="e")
    rows = ddl_rows(SHOP, "run", (CREATED, there, gone, moved), ())

    assert rows[-1].change_kinds == ("rename_table",)
    assert rows[-1].previous_table == CREATED.changes[0].identity
