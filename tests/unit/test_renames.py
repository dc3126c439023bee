"""Columns that the source renamed: read from its statements, and followed in silver."""

from __future__ import annotations

import pytest

from lakehouse.config import parse_source
from lakehouse.connectors import CONNECTORS
from lakehouse.plan.following import follow_renames
from lakehouse.plan.incarnations import End, Incarnations
from lakehouse.plan.renames import Rename, Renames
from lakehouse.plan.statements import renamed_columns, renamed_tables

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


TABLES = [
    ("mysql", "RENAME TABLE a TO b, `c d`.`e` TO `c d`.`f`", [("a", "b"), ("e", "f")]),
    ("mysql", "ALTER TABLE `s`.a RENAME TO s.b", [("a", "b")]),
    ("oracle", 'ALTER TABLE "INV"."A" RENAME TO "B"', [("A", "B")]),
    ("oracle", "RENAME a TO b", [("a", "b")]),
    ("mariadb", "/* gh-ost */ rename table s.t to s._t_del, s._t_gho to s.t", []),
    ("mysql", "RENAME TABLE a TO x, b TO a, x TO b", []),
    ("mysql", "ALTER TABLE b RENAME COLUMN v TO w", []),
    ("mysql", "CREATE TABLE renamed (id int)", []),
    ("mysql", "RENAME", []),
    ("mysql", "RENAME USER a TO b", []),
    ("sqlserver", "RENAME TABLE a TO b", []),
]


@pytest.mark.parametrize(("connector", "ddl", "expected"), TABLES)
def test_a_statement_tells_which_tables_it_renames(connector, ddl, expected):
    assert list(renamed_tables(ddl, CONNECTORS[connector].ddl_dialect)) == expected


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
