"""Silver names of tables that the source dropped and created again."""

from __future__ import annotations

from lakehouse.names import TableIdentity
from lakehouse.plan.incarnations import Incarnations, TableNames, table_names

PARTS = ("shop", "orders")
FIRST, SECOND, THIRD = (TableIdentity("shop", None, "orders", n) for n in range(3))
ONCE = Incarnations({PARTS: ("5",)}, {PARTS: ("1", "6")})
TWICE = Incarnations({PARTS: ("5", "8")}, {PARTS: ("1", "6", "9")})


def named(
    *tables: TableIdentity, published: dict[TableIdentity, str], told: Incarnations
) -> TableNames:
    return table_names(tables, "mysql", configured={}, published=published, incarnations=told)


def test_both_incarnations_in_the_first_batch_get_their_names_at_once():
    names = named(FIRST, SECOND, published={}, told=ONCE)
    assert names.final == {FIRST: "shop__orders__retired_1", SECOND: "shop__orders"}
    assert names.staged == names.final
    assert names.moves == ()


def test_the_new_one_is_staged_beside_the_old_one_which_makes_room():
    names = named(SECOND, published={FIRST: "shop__orders"}, told=ONCE)
    assert names.staged == {FIRST: "shop__orders", SECOND: "shop__orders__incoming_1"}
    assert names.moves == (
        ("shop__orders", "shop__orders__retired_1"),
        ("shop__orders__incoming_1", "shop__orders"),
    )


def test_a_drop_alone_moves_nothing_and_a_create_alone_does():
    published = {FIRST: "shop__orders"}
    dropped = Incarnations({PARTS: ("5",)}, {PARTS: ("1",)})
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


def test_an_incarnation_lived_between_two_drops():
    lived = [[TWICE.holds_at(PARTS, n, at) for n in range(3)] for at in ("4", "6", "9")]
    assert lived == [[True, False, False], [False, True, False], [False, False, True]]
