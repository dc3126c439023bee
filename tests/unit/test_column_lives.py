"""What the names of columns mean where the source drops, renames and adds columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakehouse.config import parse_source
from lakehouse.plan.records import HOLD
from lakehouse.plan.schemas.following import follow_renames
from lakehouse.plan.schemas.incarnations import Incarnations
from lakehouse.plan.schemas.renames import Renames
from lakehouse.quality.schemas.column_lives import column_renames, every_table, turns
from lakehouse.quality.schemas.version_rows import ddl_rows
from tests.unit.test_quality_ddl import ID, NAME, SHOP, change, column, event

PARTS = ("shop", "orders")
AGE, TITLE = column("age"), column("title", "VARCHAR", length=10)


def rows(*steps: tuple[str, tuple]):
    """One statement for each step, with the table as it is afterwards."""
    events = [
        event(number, change("CREATE" if number == 1 else "ALTER", *columns), ddl=ddl)
        for number, (ddl, columns) in enumerate(steps, 1)
    ]
    return ddl_rows(SHOP, "run", events, ())


def pairs(*steps, follows: bool = True) -> list[tuple[str, str]]:
    found = column_renames(rows(*steps), "mysql", lambda _: follows).get(PARTS, ())
    return [(rename.was, rename.name) for rename in found]


START = ("CREATE TABLE orders", (ID, NAME))
DROP = ("ALTER TABLE orders DROP name", (ID,))
ADD = ("ALTER TABLE orders ADD name VARCHAR(10)", (ID, NAME))
TO_TITLE = ("ALTER TABLE orders RENAME COLUMN name TO title", (ID, TITLE))


def test_a_column_that_is_added_again_is_another_one_each_time():
    assert pairs(START, DROP) == []
    assert pairs(START, DROP, ADD) == [("name", "name__dropped_1"), ("name__coming", "name")]
    upper = ("CREATE TABLE orders", (ID, NAME | {"name": "Name"}))
    assert pairs(upper, DROP, ADD)[0] == ("Name", "Name__dropped_1")
    assert pairs(START, DROP, ADD, DROP, ADD)[2:] == [
        ("name", "name__dropped_2"),
        ("name__coming", "name"),
    ]


def test_a_column_that_one_statement_drops_and_adds_is_another_one():
    at_once = ("ALTER TABLE orders DROP name, ADD name VARCHAR(10)", (ID, NAME))

    assert pairs(START, at_once) == [("name", "name__dropped_1"), ("name__coming", "name")]
    (_, found) = rows(START, at_once)
    assert found.change_kinds == ("add_column", "drop_column")
    assert turns(rows(START, at_once), "mysql") == {PARTS: (found.position,)}
    assert pairs(START, ("ALTER TABLE orders DROP KEY name, ADD KEY name (id)", (ID, NAME))) == []


def test_a_column_may_take_the_name_of_one_that_goes_in_the_same_statement():
    both = ("CREATE TABLE orders", (ID, NAME, TITLE))
    taken = ("ALTER TABLE orders DROP title, RENAME COLUMN name TO title", (ID, TITLE))
    assert pairs(both, taken) == [("title", "title__dropped_1"), ("name", "title")]


def test_a_swap_in_one_statement_and_in_three_ends_the_same():
    start = ("CREATE TABLE orders", (ID, NAME, AGE))
    swapped = (ID, column("age", "VARCHAR", length=10), column("name"))
    at_once = ("ALTER TABLE orders CHANGE name age VARCHAR(10), CHANGE age name INT", swapped)
    by_steps = [
        (
            "ALTER TABLE orders RENAME COLUMN name TO x",
            (ID, column("x", "VARCHAR", length=10), AGE),
        ),
        ("ALTER TABLE orders RENAME COLUMN age TO name", (ID, column("x"), column("name"))),
        ("ALTER TABLE orders RENAME COLUMN x TO age", swapped),
    ]
    for steps in ([start, at_once], [start, *by_steps]):
        renames = Renames(column_renames(rows(*steps), "mysql", every_table)[PARTS])
        stored = ("id", "name", "age")
        assert renames.stored_names(stored, "0000000009", stored) == {
            "id": "id",
            "name": "age",
            "age": "name",
        }


def test_where_silver_follows_no_rename_the_old_column_counts_as_dropped():
    assert pairs(START, TO_TITLE, follows=False) == []
    both = ("ALTER TABLE orders ADD name VARCHAR(10)", (ID, TITLE, NAME))
    assert pairs(START, TO_TITLE, both) == [("name", "title"), ("name__coming", "name")]
    assert pairs(START, TO_TITLE, both, follows=False) == [
        ("name", "name__dropped_1"),
        ("name__coming", "name"),
    ]


def test_a_name_that_a_rename_left_is_another_column_s():
    both = (ID, TITLE, NAME)
    apart = rows(START, TO_TITLE, ("ALTER TABLE orders ADD name VARCHAR(10)", both))
    ddl = "ALTER TABLE orders RENAME COLUMN name TO title, ADD name VARCHAR(10)"
    for told in (apart, rows(START, (ddl, both))):
        renames = Renames(column_renames(told, "mysql", every_table)[PARTS])
        behind = renames.stored_names(("id", "title", "name"), "0000000009", ("id", "name"))
        assert behind == {"id": "id", "title": "name", "name": "name__coming"}


def test_a_table_that_is_created_again_begins_anew():
    told = ddl_rows(
        SHOP,
        "run",
        [
            event(1, change("CREATE", ID, NAME)),
            event(2, change("ALTER", ID)),
            event(3, change("DROP")),
            event(4, change("CREATE", ID, NAME)),
        ],
        (),
    )
    assert column_renames(told, "mysql", every_table) == {}


BACK = ("ALTER TABLE orders RENAME COLUMN title TO name", (ID, NAME))
WIDER = ("ALTER TABLE orders MODIFY name VARCHAR(20)", (ID, NAME | {"length": 20}))
NARROW = ("ALTER TABLE orders MODIFY name VARCHAR(10)", (ID, NAME))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([START, WIDER], []),
        ([START, WIDER, NARROW], [3]),
        ([START, DROP, ADD], [3]),
        ([START, TO_TITLE, BACK], [2, 3]),
    ],
)
def test_a_schema_that_comes_back_is_another_version(steps, expected):
    positions = turns(rows(*steps), "mysql").get(PARTS, ())
    assert positions == tuple(f"{number:010d}" for number in expected)


def test_a_statement_that_a_person_decides_about_begins_another_version_for_good():
    created, commented = rows(START, ("ALTER TABLE orders …", (ID, NAME | {"comment": "c"})))
    held = replace(commented, verdict=HOLD)
    assert turns((created, commented), "mysql") == {}
    assert turns((created, held, commented), "mysql") == {PARTS: ("0000000002",)}


def test_what_is_said_of_a_column_holds_for_each_of_its_name():
    source = parse_source(
        'connector = "mysql"\ntopic_prefix = "shop"\n'
        '[tables."shop.orders"]\ncolumns.name = { mask = "redact" }\n',
        "shop",
    )
    renamed = column_renames(rows(START, DROP, ADD), "mysql", every_table)
    columns = follow_renames(source, renamed, Incarnations()).tables["shop.orders"].columns
    assert set(columns) == {"name", "name__dropped_1", "name__coming"}
    assert {options.mask for options in columns.values()} == {"redact"}
