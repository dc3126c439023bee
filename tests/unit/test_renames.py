"""Columns that the source renamed: read from its statements, and followed in silver."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lakehouse.config import parse_source
from lakehouse.connectors import CONNECTORS
from lakehouse.plan.schemas.following import follow_renames
from lakehouse.plan.schemas.incarnations import End, Incarnations
from lakehouse.plan.schemas.renames import Rename, Renames, in_time, in_turn
from lakehouse.plan.schemas.statements import renamed_columns, renamed_tables, replaced_columns

STATEMENTS = [
    ("oracle", 'ALTER TABLE "INV"."ACCT" RENAME COLUMN "V" TO "LABEL";', [("V", "LABEL")]),
    ("oracle", "alter table inv.acct rename column v to label", [("v", "label")]),
    ("mysql", "ALTER TABLE `a`.`b` RENAME COLUMN `v` TO `w x`, ADD c int", [("v", "w x")]),
    ("mariadb", "ALTER TABLE b CHANGE COLUMN v w varchar(9) AFTER id", [("v", "w")]),
    (
        "ticdc",
        "alter table b change v w int not null, rename column x to y",
        [("v", "w"), ("x", "y")],
    ),
    (
        "mysql",
        "ALTER TABLE b CONVERT TO CHARACTER SET utf8mb4, CHANGE v w int, RENAME INDEX i TO j",
        [("v", "w")],
    ),
    ("mariadb", "ALTER ONLINE TABLE b CHANGE IF EXISTS v `column` int", [("v", "column")]),
    ("mysql", "ALTER TABLE a ENGINE=InnoDB; ALTER TABLE b CHANGE v w int", [("v", "w")]),
    ("mysql", "ALTER TABLE b CHANGE v v bigint", []),
    ("mysql", "ALTER TABLE b ADD COLUMN c int, DROP COLUMN d", []),
    ("mysql", "RENAME TABLE a TO b", []),
    ("mysql", "ALTER TABLE b RENAME AS", []),
    ("mysql", "", []),
    ("sqlserver", "N/A", []),
    ("db2", "ALTER TABLE b RENAME COLUMN v TO w", []),
]


@pytest.mark.parametrize(("connector", "ddl", "expected"), STATEMENTS)
def test_a_statement_tells_which_columns_it_renames(connector, ddl, expected):
    assert list(renamed_columns(ddl, CONNECTORS[connector].ddl_dialect)) == expected


REPLACED = [
    ("mysql", "ALTER TABLE b DROP v, ADD (v int)", {"v"}),
    ("mysql", "ALTER TABLE b DROP v, DROP w, ADD COLUMN (x int, v decimal(9, 2))", {"v"}),
    ("mysql", "ALTER TABLE b DROP v, ADD (KEY v (w), x int DEFAULT (1 + 2))", set()),
    ("mysql", "ALTER TABLE b DROP v, ADD v VARCHAR(20)", {"v"}),
    (
        "mariadb",
        "ALTER TABLE `s`.b ADD COLUMN IF NOT EXISTS V int, DROP COLUMN IF EXISTS `v`",
        {"v"},
    ),
    ("mysql", "ALTER TABLE b DROP `key`, DROP w, ADD w text FIRST, ADD `key` int", {"key", "w"}),
    ("mysql", "ALTER TABLE b DROP v, ADD w int COMMENT 'ADD v', MODIFY x decimal(9,2)", set()),
    ("mysql", "ALTER TABLE b DROP INDEX v, ADD INDEX v (w, x)", set()),
    ("mysql", "ALTER TABLE `add` DROP v, ADD PRIMARY KEY (v)", set()),
    ("mysql", "CREATE TABLE b (v int) COMMENT 'DROP v, ADD v'", set()),
    ("sqlserver", "N/A", set()),
]


@pytest.mark.parametrize(("connector", "ddl", "expected"), REPLACED)
def test_a_statement_tells_which_columns_it_replaces(connector, ddl, expected):
    assert replaced_columns(ddl, CONNECTORS[connector].ddl_dialect) == expected


TABLES = [
    ("mysql", "RENAME TABLE a TO b, `c d`.`e` TO `c d`.`f`", ["a > b", "c d.e > c d.f"]),
    ("mysql", "RENAME TABLE d.moved TO e.moved", ["d.moved > e.moved"]),
    ("mysql", "RENAME TABLE IF EXISTS a WAIT 5 TO b, d.c NOWAIT TO d.e", ["a > b", "d.c > d.e"]),
    ("mysql", "RENAME TABLES a NOWAIT TO b, d.nowait TO wait", ["a > b", "d.nowait > wait"]),
    ("mysql", "ALTER TABLE `s`.a RENAME TO s.b", ["s.a > s.b"]),
    ("oracle", 'ALTER TABLE "INV"."A" RENAME TO "B"', ["INV.A > B"]),
    ("oracle", "RENAME a TO b", ["a > b"]),
    ("mysql", "ALTER TABLE s.a RENAME AS x.b", ["s.a > x.b"]),
    ("mysql", "ALTER IGNORE TABLE s.a CONVERT TO CHARACTER SET utf8, RENAME = b", ["s.a > b"]),
    (
        "mariadb",
        "/* gh-ost */ rename table s.t to s._t_del, s._t_gho to s.t",
        ["s.t > s._t_del", "s._t_gho > s.t"],
    ),
    ("mysql", "ALTER TABLE b RENAME COLUMN v TO w", []),
    ("mysql", "CREATE TABLE renamed (id int)", []),
    ("mysql", "RENAME", []),
    ("mysql", "RENAME USER a TO b", []),
    ("sqlserver", "RENAME TABLE a TO b", []),
]


@pytest.mark.parametrize(("connector", "ddl", "expected"), TABLES)
def test_a_statement_tells_which_tables_it_renames(connector, ddl, expected):
    pairs = renamed_tables(ddl, CONNECTORS[connector].ddl_dialect)

    assert [" > ".join(".".join(filter(None, each)) for each in pair) for pair in pairs] == expected


def follow(*renames: tuple[str, str, str], done: str = "") -> Renames:
    return Renames(tuple(Rename(*rename) for rename in renames), done)


def test_a_table_that_is_new_gets_the_newest_name():
    renames = follow(("5", "v", "label"))
    assert renames.stored_names(["id", "V"], "3", ()) == {"id": "id", "V": "label"}
    assert renames.stored_names(["id", "label"], "7", ()) == {"id": "id", "label": "label"}


def test_a_table_that_has_the_old_name_is_staged_under_it_and_renamed_at_the_end():
    renames = follow(("5", "v", "label"))
    stored = ("id", "v")
    assert renames.due(stored) == renames.all
    assert renames.stored_names(["id", "v"], "3", stored) == {"id": "id", "v": "v"}
    assert renames.stored_names(["id", "label"], "7", stored) == {"id": "id", "label": "v"}


def test_an_old_event_that_comes_after_the_rename_finds_its_column():
    renames = follow(("5", "v", "label"), done="5")
    assert renames.due(("id", "label")) == ()
    assert renames.stored_names(["id", "v"], "3", ("id", "label")) == {"id": "id", "v": "label"}


def test_renames_follow_each_other():
    renames = follow(("5", "v", "w"), ("6", "w", "x"))
    assert renames.stored_names(["v"], "3", ("v",)) == {"v": "v"}
    assert renames.stored_names(["w"], "5", ("v",)) == {"w": "v"}
    assert renames.stored_names(["x"], "7", ("v",)) == {"x": "v"}
    assert [rename.name for rename in renames.due(("v",))] == ["w", "x"]


def test_a_name_that_is_used_again_is_another_column():
    renames = follow(("5", "v", "label"), done="5")
    stored = ("id", "label")
    names = renames.stored_names(["id", "label", "v"], "9", stored)
    assert names == {"id": "id", "label": "label", "v": "v"}
    assert renames.due((*stored, "v")) == ()


SWAPS = {
    "one after the other": follow(("5", "a", "x"), ("6", "b", "a"), ("7", "x", "b")),
    "at once": Renames(in_turn("5", [("a", "b"), ("b", "a")])),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_columns_that_swap_their_names_keep_their_values(swap):
    renames, stored = SWAPS[swap], ("id", "a", "b")
    assert renames.stored_names(stored, "3", stored) == {"id": "id", "a": "a", "b": "b"}
    assert renames.stored_names(stored, "9", stored) == {"id": "id", "a": "b", "b": "a"}
    done = Renames(renames.all, "7")
    assert done.stored_names(stored, "3", stored) == {"id": "id", "a": "b", "b": "a"}
    assert done.stored_names(stored, "9", stored) == {"id": "id", "a": "a", "b": "b"}


def test_a_rename_that_comes_after_its_rows_is_missed_and_a_swap_is_not():
    late = follow(("5", "v", "label"))
    assert late.missed(("id", "v", "label")) == late.all
    assert late.missed(("id", "v")) == ()
    assert SWAPS["at once"].missed(("id", "a", "b")) == ()


def test_three_columns_may_pass_their_names_on():
    renames = Renames(in_turn("5", [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e")]))
    stored = ("a", "b", "c", "d")
    names = renames.stored_names(("a", "b", "c", "e"), "9", stored)
    assert names == {"a": "c", "b": "a", "c": "b", "e": "d"}
    assert follow_in(stored, renames.due(stored)) == ["b", "c", "a", "e"]


def test_a_name_that_comes_back_means_the_column_that_had_it():
    renames, stored = follow(("5", "v", "w"), ("7", "w", "v")), ("id", "v")
    assert renames.stored_names(("v",), "3", stored) == {"v": "v"}
    assert renames.stored_names(("w",), "6", stored) == {"w": "v"}
    assert renames.stored_names(("v",), "8", stored) == {"v": "v"}
    assert follow_in(stored, renames.due(stored)) == ["id", "v"]


AGAIN = Renames(in_turn("5", [], [("v", "v__dropped_1")], ["v"]))


def test_a_dropped_column_makes_room_for_one_of_its_name():
    stored = ("id", "v")
    assert AGAIN.stored_names(stored, "3", stored) == {"id": "id", "v": "v"}
    staged = AGAIN.stored_names(stored, "9", stored)["v"]
    assert staged not in stored
    assert follow_in((*stored, staged), AGAIN.due(stored)) == ["id", "v__dropped_1", "v"]
    done = Renames(AGAIN.all, "5")
    assert done.due(("id", "v__dropped_1", "v")) == ()
    assert done.stored_names(stored, "3", stored)["v"] == "v__dropped_1"
    assert done.stored_names(stored, "9", stored)["v"] == "v"


def test_a_table_that_is_new_gets_both_columns_under_their_last_names():
    assert AGAIN.stored_names(("id", "v"), "3", ())["v"] == "v__dropped_1"
    assert AGAIN.stored_names(("id", "v"), "9", ())["v"] == "v"


def test_columns_that_share_one_already_are_not_told_apart_any_more():
    plain = Rename("5", "a", "b")
    assert in_time((*AGAIN.all, plain), "", "7") == (plain,)
    assert in_time(AGAIN.all, "", "") == AGAIN.all
    assert in_time(AGAIN.all, "5", "7") == AGAIN.all
    assert in_time(AGAIN.all, "", "4") == AGAIN.all


def follow_in(stored: Sequence[str], renames: Sequence[Rename]) -> list[str]:
    """The columns of a table after renames, each of which needs a free name."""
    names = list(stored)
    for rename in renames:
        assert rename.name not in names
        names[names.index(rename.was)] = rename.name
    return names


def test_a_renamed_column_keeps_its_mask_and_its_type():
    toml = """
connector = "mysql"
topic_prefix = "shop"
[tables."shop.people"]
columns.phone = { mask = "redact" }
columns.age = { type = "bigint" }
"""
    source = parse_source(toml, "shop")
    renamed = (Rename("5", "PHONE", "mobile"), Rename("6", "mobile", "cell"))
    followed = follow_renames(source, {("shop", "people"): renamed}, Incarnations())
    columns = followed.tables["shop.people"].columns
    assert {name: column.mask for name, column in columns.items()} == {
        "phone": "redact",
        "mobile": "redact",
        "cell": "redact",
        "age": None,
    }


def test_a_renamed_table_keeps_its_masks_and_types():
    toml = """
connector = "mysql"
topic_prefix = "shop"
[tables."shop.people"]
table = "folk"
columns.phone = { mask = "redact" }
"""
    lives = Incarnations({("shop", "people"): (End("4", ("shop", "persons")),)})
    renamed = {("shop", "persons"): (Rename("5", "phone", "mobile"),)}
    followed = follow_renames(parse_source(toml, "shop"), renamed, lives)
    persons = followed.tables["shop.persons"]
    assert persons.table is None
    assert {name for name, column in persons.columns.items() if column.mask == "redact"} == {
        "phone",
        "mobile",
    }
    assert followed.tables["shop.people"].table == "folk"
