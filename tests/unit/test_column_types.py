"""Types that statements tell of columns whose messages carry no schema."""

from __future__ import annotations

from dataclasses import replace

from lakehouse.config import SourceConfig, parse_source
from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity
from lakehouse.plan.schemas.incarnations import End, Incarnations, ToldTypes
from lakehouse.plan.schemas.row_schema import proven_schema
from lakehouse.quality.schemas.column_types import told_types
from lakehouse.quality.schemas.statements import incarnations
from lakehouse.quality.schemas.version_rows import ddl_rows
from tests.unit.test_quality_ddl import ID, SHOP, change, column, event

PARTS = ("shop", "orders")
ORDERS = TableIdentity("shop", None, "orders")
PRICE = column("price", "DECIMAL", length=12, scale=4)
START = ("CREATE TABLE orders", (ID, PRICE))


def rows(*steps):
    events = [
        event(number, change("CREATE" if number == 1 else "ALTER", *columns), ddl=ddl)
        for number, (ddl, columns) in enumerate(steps, 1)
    ]
    return ddl_rows(SHOP, "run", events, ())


def told(*steps) -> list[tuple[str, bool]]:
    found = told_types(rows(*steps), "mysql").get(PARTS, ())
    return [(each.types.get("price", ""), each.is_turn) for each in found]


def test_a_column_that_gets_another_type_is_read_anew_from_there_on():
    wider = ("ALTER TABLE orders MODIFY price DECIMAL(14,2)", (ID, PRICE | {"length": 14}))
    more = ("ALTER TABLE orders ADD age INT", (ID, PRICE, column("age")))
    assert told(START, more) == [("DECIMAL(12,4)", False)] * 2
    assert told(START, wider) == [("DECIMAL(12,4)", False), ("DECIMAL(14,4)", True)]
    gone = ("ALTER TABLE orders DROP price", (ID,))
    back = ("ALTER TABLE orders ADD price INT", (ID, column("price")))
    assert told(START, gone, back)[1:] == [("", False), ("INT", True)]


def test_of_a_table_whose_beginning_is_unknown_nothing_is_told():
    assert told(("ALTER TABLE orders ADD price DECIMAL(12,4)", (ID, PRICE))) == []


def test_types_are_those_at_a_position_and_of_the_table_of_today():
    wider = ("ALTER TABLE orders MODIFY price DECIMAL(14,4)", (ID, PRICE | {"length": 14}))
    recorded = rows(START, wider)
    lives = incarnations(recorded, "mysql")
    first, second = (row.position for row in recorded)
    assert lives.types_at(ORDERS, "mysql", first)["price"] == "DECIMAL(12,4)"
    assert lives.types_at(ORDERS, "mysql", second)["price"] == "DECIMAL(14,4)"
    assert lives.types_at(ORDERS, "mysql", None)["price"] == "DECIMAL(14,4)"
    assert lives.types_at(ORDERS, "mysql", "") == {}


def test_a_renamed_table_has_the_types_that_were_told_of_its_old_name():
    types = {("shop", "old"): (ToldTypes("1", {"price": "INT"}, is_turn=False),)}
    lives = Incarnations({("shop", "old"): (End("5", PARTS),)}, types=types)
    assert lives.types_at(ORDERS, "mysql", "9") == {"price": "INT"}
    assert lives.types_at(replace(ORDERS, table="old", incarnation=1), "mysql", "9") == {}


def test_what_the_toml_file_declares_comes_first_and_what_cannot_be_made_is_left():
    proven = {"a": "STRING", "b": "STRING", "c": "BOOLEAN", "d": "VOID", "e": "BIGINT"}
    types = {"a": "DECIMAL(12,4)", "b": "DECIMAL(12,4)", "c": "DECIMAL(3,0)", "d": "DATE"}
    found = proven_schema(proven, CONNECTORS["mysql"], {"b": "decimal(6,2)"}, types)
    assert {column.name: column.type.spark for column in found.columns} == {
        "a": "decimal(12,4)",
        "b": "decimal(6,2)",
        "c": "decimal(3,0)",
        "d": "date",
        "e": "bigint",
    }


def begun(kind: str, ddl: str, source: SourceConfig = SHOP) -> list[str]:
    events = [event(1, change(kind, ID, PRICE), ddl=ddl)]
    found = told_types(ddl_rows(source, "run", events, ()), "mysql").get(PARTS, ())
    return [each.types["price"] for each in found]


def test_a_table_begins_where_the_source_sends_no_statement():
    assert begun("CREATE", "N/A") == ["DECIMAL(12,4)"], "as Db2 and SQL Server send it"
    assert begun("ALTER", "N/A") == []


def test_a_table_begins_where_its_statement_is_withheld():
    text = 'connector = "mysql"\ntopic_prefix = "shop"\n'
    masked = parse_source(
        f'{text}[tables."shop.orders"]\ncolumns.name = {{ mask = "redact" }}\n', "shop"
    )
    assert begun("CREATE", "CREATE TABLE orders (price DECIMAL(12,4))", masked) == ["DECIMAL(12,4)"]
    assert begun("ALTER", "ALTER TABLE orders ADD price DECIMAL(12,4)", masked) == []
