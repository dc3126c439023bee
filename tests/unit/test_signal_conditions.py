"""Conditions of signals: what a person may write, and the SQL that becomes of it."""

from __future__ import annotations

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.connectors import CONNECTORS
from lakehouse.errors import ConfigError, SignalRefused
from lakehouse.names import TableIdentity
from lakehouse.plan.signals.conditions import Condition, filter_of, parse_condition, raw_filter
from lakehouse.plan.signals.sql import Kind, Value, literal, quoted_name

ORDERS = TableIdentity(None, "public", "orders")
DIALECTS = {
    "postgresql": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlserver": "tsql",
    "oracle": "oracle",
}
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30)


def sql(text: str, connector: str = "postgresql") -> str | None:
    return filter_of(ORDERS, [parse_condition(text, connector)], connector)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id > 100", '("id" > 100)'),
        ("id=-0.5e3", '("id" = -0.5e3)'),
        ("id != 1", '("id" <> 1)'),
        ("state = 'it''s'", "(\"state\" = 'it''s')"),
        ("state IN ('open' , 'paid')", "(\"state\" IN ('open', 'paid'))"),
        ("state not  in ('a')", "(\"state\" NOT IN ('a'))"),
        ("state like '10%'", "(\"state\" LIKE '10%')"),
        ("paid is  NOT null", '("paid" IS NOT NULL)'),
        ("paid is null", '("paid" IS NULL)'),
        ("paid = TRUE", '("paid" = true)'),
        ("placed >= date '2026-01-31'", "(\"placed\" >= DATE '2026-01-31')"),
        ("at < timestamp'2026-01-31 10:00'", "(\"at\" < TIMESTAMP '2026-01-31 10:00:00')"),
        ('"we ""ird.c" = 1', '("we ""ird.c" = 1)'),
        ("public.orders.id = 1", '("id" = 1)'),
        ("größe = 1", '("größe" = 1)'),
        ("c = 'a, b)'", "(\"c\" = 'a, b)')"),
        (r"c = 'a\'", r"""("c" = E'a\\')"""),
        ("c = '; DROP TABLE x --'", "(\"c\" = '; DROP TABLE x --')"),
    ],
)
def test_a_condition_becomes_sql_with_quoted_names(text: str, expected: str):
    assert sql(text) == expected


@pytest.mark.parametrize(
    ("connector", "expected"),
    [
        ("postgresql", """("c" = E'\\\\''x')"""),
        ("mysql", "(`c` = _utf8mb4 X'5c2778')"),
        ("mariadb", "(`c` = _utf8mb4 X'5c2778')"),
        ("sqlserver", "([c] = N'\\''x')"),
        ("oracle", "(\"c\" = '\\''x')"),
        ("db2", "(\"c\" = '\\''x')"),
    ],
)
def test_a_backslash_is_one_whatever_the_server_s_settings(connector: str, expected: str):
    assert sql("c = '\\''x'", connector) == expected


def test_a_condition_on_another_table_of_the_request_is_left_out():
    on_one = parse_condition("public.lines.id = 1", "postgresql")
    on_all = parse_condition("id = 2", "postgresql")
    assert filter_of(ORDERS, [on_one], "postgresql") is None
    assert filter_of(ORDERS, [on_one, on_all], "postgresql") == '("id" = 2)'


def test_all_conditions_hold_and_stand_in_brackets():
    both = [parse_condition(text, "mysql") for text in ("a = 1", "b is null")]
    assert filter_of(ORDERS, both, "mysql") == "(`a` = 1 AND `b` IS NULL)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "id",
        "id = ",
        "id = x",
        "id = 1 or 1 = 1",
        "id = 1; drop table orders",
        "id = 1 --",
        "id = 'a' 'b'",
        "id = 'a''",
        "id = (1)",
        "id in 1",
        "id in ()",
        "id in (1,)",
        "id in (1, 2",
        "id is null 1",
        "id = 1, 2",
        "id = null",
        "id between 1 and 2",
        "id = (select 1)",
        "lower(id) = 'a'",
        "id = lower('a')",
        "id = 1.2.3",
        "id = 0x1F",
        "id = \u0661",
        "orders.id = 1",
        "db.public.orders.id = 1",
        'id = "1"',
        '"id = 1',
    ],
)
def test_what_is_no_condition_is_refused_with_what_is_expected(text: str):
    with pytest.raises(ConfigError, match="expected"):
        parse_condition(text, "postgresql")


@pytest.mark.parametrize(
    ("text", "connector", "words"),
    [
        ("d = date '2026-02-30'", "postgresql", "date '2026-02-30'"),
        ("d = date '1'' or 1=1'", "postgresql", "date"),
        ("d = timestamp '2026-01-01T00:00:00Z'", "postgresql", "expected no zone"),
        ("d = 'a\0b'", "postgresql", "NUL"),
        ("d = '\ud800'", "mysql", "lone surrogates"),
        ("d = true", "sqlserver", "expected a number"),
        ("d = false", "oracle", "expected a number"),
        ('"a""b" = 1', "oracle", "cannot write in a name"),
    ],
)
def test_what_a_database_cannot_write_is_refused(text: str, connector: str, words: str):
    with pytest.raises(SignalRefused, match=words):
        sql(text, connector)


def test_dates_are_cast_where_there_are_no_date_literals():
    assert sql("d = date '2026-01-31'", "sqlserver") == "([d] = CAST('2026-01-31' AS date))"
    assert sql("d = timestamp '2026-01-31'", "sqlserver") == (
        "([d] = CAST('2026-01-31 00:00:00' AS datetime2))"
    )


@pytest.mark.parametrize("connector", DIALECTS)
@given(name=TEXTS.filter(bool), text=TEXTS)
def test_any_name_and_text_stay_one_name_and_one_text(connector: str, name: str, text: str):
    if connector == "oracle":
        name = name.replace('"', "x")
    if connector in ("mysql", "mariadb", "postgresql"):
        text = text.replace("\\", "/")  # Written in ways that sqlglot reads otherwise.
    condition = Condition(name, "=", (Value(Kind.TEXT, text),))
    written = f"SELECT 1 FROM t WHERE ({condition.sql(connector)})"
    [comparison] = sqlglot.parse_one(written, dialect=DIALECTS[connector]).find_all(sqlglot.exp.EQ)
    assert comparison.left.name == name
    assert comparison.right.name == text


@given(text=TEXTS)
def test_a_backslash_of_postgresql_and_of_the_binlog_family_can_be_read_back(text: str):
    value = Value(Kind.TEXT, text + "\\")
    escaped = literal(value, CONNECTORS["postgresql"].sql)
    assert escaped.startswith("E'")
    assert escaped[2:-1].replace("''", "'").replace("\\\\", "\\") == value.text
    shown = literal(value, CONNECTORS["mysql"].sql)
    assert bytes.fromhex(shown.removeprefix("_utf8mb4 X'")[:-1]).decode() == value.text


def test_a_comment_at_the_end_of_a_raw_condition_does_not_swallow_the_bracket():
    assert raw_filter("a = 1 -- b") == "(a = 1 -- b\n)"
    with pytest.raises(SignalRefused, match="not empty"):
        raw_filter("  ")


def test_an_empty_name_is_refused():
    with pytest.raises(SignalRefused, match="not empty"):
        quoted_name("", CONNECTORS["mysql"].sql)
