"""Silver names of tables that the source dropped and created again."""

from __future__ import annotations

from lakehouse.names import TableIdentity
from lakehouse.plan.schemas.incarnations import End, Incarnations
from lakehouse.plan.schemas.table_names import TableNames, table_names

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
