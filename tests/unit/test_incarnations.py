"""Silver names of tables that the source dropped and created again."""

from __future__ import annotations

from dataclasses import replace

from lakehouse.config import parse_source
from lakehouse.names import TableIdentity
from lakehouse.plan.incarnations import End, Incarnations
from lakehouse.plan.table_names import TableNames, table_names
from lakehouse.quality.column_lives import column_renames, every_table
from lakehouse.quality.held import held_tables
from lakehouse.quality.statements import incarnations, told
from lakehouse.quality.version_rows import ddl_rows
from tests.unit.test_quality_ddl import ID, NAME, SHOP, column
from tests.unit.test_swaps import WIDE, sent

PARTS = ("shop", "orders")
FIRST, SECOND, THIRD = (TableIdentity("shop", None, "orders", n) for n in range(3))
ONCE = Incarnations({PARTS: (End("5"),)}, {PARTS: ("1", "6")})
TWICE = Incarnations({PARTS: (End("5"), End("8"))}, {PARTS: ("1", "6", "9")})
SALES = TableIdentity("shop", None, "sales")
SALES_PARTS = ("shop", "sales")


def named(
    *tables: TableIdentity, published: dict[TableIdentity, str], told: Incarnations
) -> TableNames:
    return table_names(tables, "mysql", configured={}, published=published, incarnations=told)


def test_both_incarnations_in_the_first_batch_get_their_names_at_once():
    names = named(FIRST, SECOND, published={}, told=ONCE)
    assert names.final == {FIRST: "shop__orders__retired_1", SECOND: "shop__orders"}
    assert names.staged == {**names.final, SECOND: "shop__orders__incoming_1"}
    assert names.moves == (("shop__orders__incoming_1", "shop__orders"),)


def test_the_new_one_is_staged_beside_the_old_one_which_makes_room():
    names = named(SECOND, published={FIRST: "shop__orders"}, told=ONCE)
    assert names.staged == {FIRST: "shop__orders", SECOND: "shop__orders__incoming_1"}
    assert names.moves == (
        ("shop__orders", "shop__orders__retired_1"),
        ("shop__orders__incoming_1", "shop__orders"),
    )


def test_a_drop_alone_moves_nothing_and_a_create_alone_does():
    published = {FIRST: "shop__orders"}
    dropped = Incarnations({PARTS: (End("5"),)}, {PARTS: ("1",)})
    assert named(published=published, told=dropped).moves == ()
    assert named(published=published, told=ONCE).moves == (
        ("shop__orders", "shop__orders__retired_1"),
    )


def test_names_stay_once_they_are_published():
    published = {FIRST: "shop__orders__retired_1", SECOND: "shop__orders"}
    names = named(FIRST, SECOND, published=published, told=ONCE)
    assert (names.final, names.moves) == (published, ())
    third = named(THIRD, published=published, told=TWICE)
    assert third.moves == (
        ("shop__orders", "shop__orders__retired_2"),
        ("shop__orders__incoming_2", "shop__orders"),
    )


def test_a_configured_name_names_every_incarnation():
    names = table_names(
        [FIRST, SECOND],
        "mysql",
        configured={FIRST: "sales"},
        published={},
        incarnations=ONCE,
    )
    assert names.final == {FIRST: "sales__retired_1", SECOND: "sales"}


def test_a_position_tells_the_incarnation():
    assert [TWICE.at(PARTS, position)[1] for position in ("4", "5", "6", "8", "9")] == [
        0,
        0,
        1,
        1,
        2,
    ]


def test_a_renamed_table_takes_its_silver_table_along():
    renamed = Incarnations({PARTS: (End("5", SALES_PARTS),)})
    names = named(SALES, published={FIRST: "shop__orders"}, told=renamed)
    assert names.staged == {SALES: "shop__orders"}
    assert names.moves == (("shop__orders", "shop__sales"),)
    assert [renamed.at(PARTS, position) for position in ("5", "6")] == [
        (SALES_PARTS, 0),
        (PARTS, 1),
    ]


def test_a_new_table_may_have_the_name_that_a_renamed_one_had():
    renamed = Incarnations({PARTS: (End("5", SALES_PARTS),)}, {PARTS: ("1", "6")})
    names = named(SALES, SECOND, published={FIRST: "shop__orders"}, told=renamed)
    assert names.final == {SALES: "shop__sales", SECOND: "shop__orders"}
    assert names.moves == (
        ("shop__orders", "shop__sales"),
        ("shop__orders__incoming_1", "shop__orders"),
    )


def test_a_table_may_be_renamed_to_the_name_of_a_dropped_one():
    told = Incarnations(
        {SALES_PARTS: (End("3"),), PARTS: (End("5", SALES_PARTS),)}, {SALES_PARTS: ("1",)}
    )
    published = {FIRST: "shop__orders", SALES: "shop__sales"}
    names = named(published=published, told=told)
    assert names.moves == (
        ("shop__sales", "shop__sales__retired_1"),
        ("shop__orders", "shop__sales"),
    )


def test_renames_follow_each_other():
    told = Incarnations(
        {PARTS: (End("5", SALES_PARTS),), SALES_PARTS: (End("7", ("shop", "deals")),)}
    )
    assert told.at(PARTS, "2") == (("shop", "deals"), 0)
    assert told.today(FIRST, "mysql") == TableIdentity("shop", None, "deals")
    lives = {(life.parts, life.behind): life.table for life in told.lives()}
    assert lives == {
        (PARTS, ""): ("shop", "deals"),
        (PARTS, "5"): PARTS,
        (SALES_PARTS, ""): ("shop", "deals"),
        (SALES_PARTS, "7"): SALES_PARTS,
    }


CREATED = sent(1, 1, "CREATE TABLE orders (…)", "orders", ID, NAME)
REPLACED = sent(2, 5, "/* anew */ CREATE OR REPLACE TABLE orders (…)", "orders", ID, WIDE)
WIDER = sent(3, 6, "ALTER TABLE orders ADD age int", "orders", ID, WIDE, column("age"))


def test_a_statement_that_replaces_a_table_ends_one_and_begins_the_next():
    rows = ddl_rows(SHOP, "run", (CREATED, REPLACED, WIDER), ())
    lives = incarnations(rows, "mysql")

    assert rows[1].change_kinds == ("create_table", "drop_table")
    assert lives.created(PARTS) == 1
    assert [lives.at(PARTS, f"{position:010d}")[1] for position in (5, 6)] == [0, 1]
    kinds = {
        life[1]: [each.kinds for each in mine.statements]
        for life, mine in told(rows, "mysql", lives).items()
    }
    assert kinds == {
        0: [("create_table",), ("drop_table",)],
        1: [("create_table",), ("add_column",)],
    }
    types = [lives.types_at(table, "mysql", None) for table in (FIRST, SECOND)]
    assert [set(mine) for mine in types] == [{"id", "name"}, {"id", "name", "age"}]
    assert column_renames(rows, "mysql", every_table) == {}, "its columns are none of the old ones"
    assert named(published={FIRST: "shop__orders"}, told=lives).moves == (
        ("shop__orders", "shop__orders__retired_1"),
    )


def test_it_waits_where_the_mode_follows_no_change():
    source = parse_source(
        'connector = "mysql"\ntopic_prefix = "shop"\n[schema_changes]\nmode = "fail"\n', "shop"
    )
    rows = ddl_rows(source, "run", (CREATED, REPLACED), ())
    lives = incarnations(rows, "mysql")

    assert [row.verdict for row in rows] == ["evolve", "hold"]
    assert set(held_tables(rows, "mysql")) == {(PARTS, 0), (PARTS, 1)}
    assert lives.created(PARTS) == 1


def test_of_a_table_that_is_not_there_it_creates_the_first():
    dropped = sent(2, 2, "DROP TABLE orders", "orders")
    for events in ((REPLACED,), (CREATED, dropped, REPLACED)):
        rows = ddl_rows(SHOP, "run", events, ())
        assert rows[-1].change_kinds == ("create_table",)
        assert incarnations(rows, "mysql").created(PARTS) == len(events) // 2


def test_a_table_of_which_data_events_alone_told_is_replaced_too():
    (first,) = ddl_rows(SHOP, "run", (CREATED,), ())
    known = replace(first, fingerprint="17", change_kinds=("create_table",))
    (row,) = ddl_rows(SHOP, "run", (REPLACED,), (known,))
    assert row.change_kinds == ("create_table", "drop_table")
