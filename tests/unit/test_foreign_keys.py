"""Foreign keys as statements declare, change and drop them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lakehouse.config import parse_source
from lakehouse.connectors import CONNECTORS
from lakehouse.plan.records import WITHHELD, SchemaVersionRow
from lakehouse.plan.schemas.foreign_keys import ForeignKey, changes_keys, foreign_keys, unread_keys
from lakehouse.quality.schemas.ddl import SchemaMessage, parse_event
from lakehouse.quality.schemas.version_rows import ddl_rows
from tests.support.schema_messages import Col, schema_change, text_of

ID, PART, NAME = Col("id", "int", optional=False), Col("part", "int"), Col("name", "text")
TABLE = (ID, PART, NAME)
CREATED = (
    "CREATE TABLE orders (id INT PRIMARY KEY, part INT, name TEXT, "
    "CONSTRAINT of_part FOREIGN KEY (part) REFERENCES parts (id) ON DELETE CASCADE)"
)
OF_PART = ForeignKey("of_part", ("part",), "", "parts", ("id",))
SOURCE = parse_source('connector = "mysql"\ntopic_prefix = "shop"\n', "shop")
# What happened: kind, table, statement, columns afterwards, the name before.
Step = tuple[str, str, str, Sequence[Col], str]


def created(statement: str = CREATED) -> Step:
    return ("CREATE", "orders", statement, TABLE, "")


def altered(clause: str, columns: Sequence[Col] = TABLE) -> Step:
    return ("ALTER", "orders", f"ALTER TABLE orders {clause}", columns, "")


def rows_of(*steps: Step) -> list[SchemaVersionRow]:
    rows: list[SchemaVersionRow] = []
    for number, (kind, table, statement, columns, was) in enumerate(steps):
        document = schema_change("mysql", kind, table, columns, ddl=statement, was=was)
        message = SchemaMessage("shop", 0, number, f"{number:010d}", text_of(document))
        rows += ddl_rows(SOURCE, "run", [parse_event(message, "mysql")], rows)
    return rows


def keys_of(*steps: Step) -> tuple[ForeignKey, ...]:
    found = foreign_keys(rows_of(*steps), CONNECTORS["mysql"])
    return tuple(
        key for table, keys in sorted(found.items()) if "order" in table[-1] for key in keys
    )


AFTER = {
    "a column beside it": (altered("ADD age INT", (*TABLE, Col("age", "int"))), (OF_PART,)),
    "another key": (
        altered("ADD FOREIGN KEY (name, id) REFERENCES other.names (name, number)"),
        (OF_PART, ForeignKey("", ("name", "id"), "other", "names", ("name", "number"))),
    ),
    "dropped": (altered("DROP FOREIGN KEY of_part"), ()),
    "dropped as a constraint": (altered("DROP CONSTRAINT `OF_PART`"), ()),
    "another constraint dropped": (altered("DROP CONSTRAINT is_positive"), (OF_PART,)),
    "its column renamed": (
        altered("RENAME COLUMN part TO piece", (ID, PART.but(name="piece"), NAME)),
        (replace(OF_PART, columns=("piece",)),),
    ),
    "its column dropped": (altered("DROP COLUMN part", (ID, NAME)), ()),
    "the table renamed": (
        ("ALTER", "big_orders", "ALTER TABLE orders RENAME TO big_orders", TABLE, "orders"),
        (OF_PART,),
    ),
    "the table dropped": (("DROP", "orders", "DROP TABLE orders", (), ""), ()),
}


def test_a_table_is_created_with_its_keys() -> None:
    assert keys_of(created()) == (OF_PART,)
    assert keys_of(created("CREATE TABLE orders (id INT)")) == ()


@pytest.mark.parametrize("case", AFTER)
def test_later_statements_change_the_keys(case: str) -> None:
    step, expected = AFTER[case]

    assert keys_of(created(), step) == expected


def test_a_key_whose_name_the_source_chose_is_gone_with_any_unknown_name() -> None:
    unnamed = created(CREATED.replace("CONSTRAINT of_part ", ""))

    assert keys_of(unnamed) == (replace(OF_PART, name=""),)
    assert keys_of(unnamed, altered("DROP FOREIGN KEY orders_ibfk_1")) == ()


def test_a_key_to_a_table_that_was_dropped_is_gone() -> None:
    parts = ("CREATE", "parts", "CREATE TABLE parts (id INT)", (ID,), "")

    assert keys_of(parts, created(), ("DROP", "parts", "DROP TABLE parts", (), "")) == ()


def test_a_statement_about_keys_alone_is_a_version_of_its_own() -> None:
    rows = rows_of(created("CREATE TABLE orders (id INT)"), altered("ADD CHECK (part > 0)"))
    assert [row.change_kinds for row in rows] == [("create_table",)]

    rows = rows_of(
        created("CREATE TABLE orders (id INT)"),
        altered("ADD CONSTRAINT of_part FOREIGN KEY (part) REFERENCES parts (id)"),
    )
    assert [row.change_kinds for row in rows] == [("create_table",), ("constraint",)]


def test_a_reference_behind_a_columns_type_is_a_key() -> None:
    inline = replace(OF_PART, is_inline=True)
    text = "CREATE TABLE orders (id INT, part INT CONSTRAINT of_part REFERENCES parts (id))"
    assert keys_of(created(text)) == (inline,)

    before = ("CREATE", "orders", "CREATE TABLE orders (id INT, name TEXT)", (ID, NAME), "")
    unnamed = replace(inline, name="", referenced=(), qualifier="shop")
    assert keys_of(before, altered("ADD COLUMN part INT REFERENCES shop.parts")) == (unnamed,)
    oracle = 'ALTER TABLE "orders" ADD ("part" NUMBER REFERENCES parts(id), z NUMBER)'
    assert changes_keys(oracle, CONNECTORS["oracle"]) == {"orders"}


def test_only_a_source_that_heeds_it_has_another_constraint_then() -> None:
    text = "ALTER TABLE orders ADD COLUMN part INT REFERENCES parts (id)"

    assert changes_keys(text, CONNECTORS["mariadb"]) == {"orders"}
    assert changes_keys(text, CONNECTORS["mysql"]) == set()
    assert changes_keys(f"{text}, DROP FOREIGN KEY other", CONNECTORS["mysql"]) == {"orders"}


def test_a_statement_that_is_not_understood_or_withheld_is_a_reason() -> None:
    odd = altered("ADD (age INT REFERENCES parts (id), z INT)", (*TABLE, Col("age", "int")))
    rows = rows_of(created(), odd)
    assert unread_keys(rows[:1], CONNECTORS["mysql"]) == {}
    assert unread_keys(rows, CONNECTORS["mysql"]) == {
        ("shop", "orders"): ("foreign keys: the statement at shop[0] 1 is not understood",)
    }

    hidden = [replace(rows[0], ddl=WITHHELD)]
    (reason,) = unread_keys(hidden, CONNECTORS["mysql"])[("shop", "orders")]
    assert reason == "foreign keys: its statements are withheld, since it has masked columns"
    assert unread_keys([*hidden, *rows_of(created())], CONNECTORS["mysql"]) == {}
