"""Topics that the TOML file maps to tables: to one, or to all that a pattern means."""

from __future__ import annotations

import pytest

from lakehouse.config import is_mapped, mapped_table, parse_source
from lakehouse.names import TableIdentity


def source(patterns: str, connector: str = "oracle"):
    text = f'connector = "{connector}"\ntopic_prefix = "shop"\n[kafka]\n'
    if connector == "ticdc":
        text += 'topics = ["all"]\n'
    return parse_source(f"{text}topic_tables.all = [{patterns}]\n", "shop")


@pytest.mark.parametrize(
    ("patterns", "connector", "table"),
    [
        ("'INV\\.ORDERS'", "oracle", TableIdentity(None, "INV", "ORDERS")),
        ("'INV.ORDERS'", "oracle", TableIdentity(None, "INV", "ORDERS")),
        ("'shop.orders'", "mysql", TableIdentity("shop", None, "orders")),
        ("'d.dbo.orders'", "sqlserver", TableIdentity("d", "dbo", "orders")),
        ("'INV.SYS\\$ORDERS'", "oracle", TableIdentity(None, "INV", "SYS$ORDERS")),
        ("'INV.\"A\\.B\"'", "oracle", TableIdentity(None, "INV", "A.B")),
        ("'INV.ORDERS_.*'", "oracle", None),
        ("'INV.ORDERS', 'INV.LINES'", "oracle", None),
        ("'ORDERS'", "oracle", None),
        ("'INV.ORDERS\\d'", "oracle", None),
    ],
)
def test_a_topic_is_mapped_to_one_table_where_the_pattern_means_one_alone(
    patterns, connector, table
):
    assert mapped_table(source(patterns, connector), "all") == table


def test_a_topic_that_the_file_does_not_name_is_mapped_to_none():
    assert mapped_table(source("'INV.ORDERS'"), "other") is None


@pytest.mark.parametrize(
    ("table", "expected"), [("ORDERS_1", True), ("LINES", True), ("ORDERS", False), ("A.B", True)]
)
def test_a_topic_holds_the_tables_that_its_patterns_mean(table, expected):
    patterns = """'INV\\.ORDERS_.*', 'INV.LINES', 'INV."A\\.B"'"""
    assert is_mapped(source(patterns), "all", TableIdentity("PDB", "INV", table)) is expected
    assert not is_mapped(source(patterns), "shop.INV.LINES", TableIdentity("PDB", "INV", table))
