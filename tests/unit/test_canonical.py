"""Values of a database and of silver have one form, and only equal values are equal in it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.plan.reconciling.canonical import canonical
from lakehouse.plan.reconciling.kinds import (
    BINLOG_KINDS,
    POSTGRESQL_KINDS,
    is_held_as,
    postgresql_kind,
)
from lakehouse.plan.reconciling.texts import digest, value_text

PARIS = timezone(timedelta(hours=2))

# kind, value of the database, value of silver, doc of silver's column
EQUAL = [
    ("integer", 2**64 - 1, Decimal(18446744073709551615), ""),
    ("integer", 2155, 2155, ""),
    ("integer", 1, True, ""),
    ("decimal", Decimal("12.50"), Decimal("12.5000"), ""),
    ("decimal", Decimal("0.12500000000000000000"), "0.125", ""),
    ("float", 0.1, 0.10000000149011612, ""),
    ("double", 0.1, 0.1, ""),
    ("boolean", True, True, ""),
    ("bytes", memoryview(b"\x00\xff"), b"\x00\xff", ""),
    ("date", date(2024, 2, 29), date(2024, 2, 29), ""),
    ("timestamp", datetime(2024, 2, 29, 1, 2, 3, 4), datetime(2024, 2, 29, 1, 2, 3, 4), ""),  # noqa: DTZ001
    (
        "instant",
        datetime(2024, 2, 29, 1, tzinfo=PARIS),
        datetime(2024, 2, 28, 23, tzinfo=UTC),
        "",
    ),
    ("instant", datetime(2024, 2, 29, 1), datetime(2024, 2, 29, 1, tzinfo=UTC), ""),  # noqa: DTZ001
    ("time", time(6, 30, 0, 250_000), 23_400_250_000, "time of day in microseconds"),
    ("time", time(6, 30, 0, 250_000), 23_400_250, "time of day in milliseconds"),
    ("time", timedelta(hours=-30), -108_000_000_000, ""),
    ("interval", "P1M2DT-4H-0.5S", "P0Y1M2DT-4H0M-0.5S", ""),
    ("interval", "P1Y2M", "P0Y14M0DT0H0M0S", ""),
    ("json", '{"b": 1.50, "a": [1, null]}', '{"a":[1,null],"b":1.5}', ""),
    ("array text", ["new", "with, comma", None], ["new", "with, comma", None], ""),
    ("array decimal", [Decimal("1.5"), None], [Decimal("1.50"), None], ""),
    ("array integer", [[1, 2], [None]], [[1, 2], [None]], ""),
    ("double", float("nan"), float("nan"), ""),
    ("double", 0.0, -0.0, ""),
    ("money", Decimal("-1234.50"), Decimal("-1234.5"), ""),
    ("zoned_time", "12:30:00.5+02", "10:30:00.5Z", ""),
    ("zoned_time", "01:00:00+02", "23:00:00Z", ""),
    ("binlog_json", '{"a": 0.0000001}', '{"a": 1e-7}', ""),
    ("hstore", '{"a": null, "b": "1"}', '{"b":"1","a":null}', ""),
    ("bits", "100000000", b"\x00\x01", ""),
    ("bits", "0001", b"\x01", ""),
    ("bits", 2**63, bytes(7) + b"\x80", ""),
    ("bits", "1", True, ""),
    ("point", "(1.5,-2)", {"x": 1.5, "y": -2.0, "wkb": None, "srid": None}, ""),
    ("geometry", b"\x01\x02", {"wkb": b"\x01\x02", "srid": None}, ""),
    ("network", "10.0.0.1/32", "10.0.0.1", ""),
    ("network", "2001:db8::1/128", "2001:db8::1", ""),
    ("network", "10.0.0.0/8", "10.0.0.0/8", ""),
    ("shape", "<(1,2e20),-3.5>", b"<(1.0,2.0E20),-3.5>", ""),
    ("text", "'fat' & 'rat'", b"'fat' & 'rat'", ""),
    ("char", "ab    ", "ab    ", ""),
    ("text", "paid", "paid", ""),
    ("text", None, None, ""),
    ("decimal", Decimal("NaN"), None, ""),
    ("array decimal", [Decimal("NaN"), Decimal(1)], None, ""),
    ("array integer", [[1, 2], [3, 4]], [None, None], ""),
    ("date", date(1500, 1, 1), date(1500, 1, 10), ""),
    ("binlog_date", "0000-00-00", date(1970, 1, 1), ""),
    ("binlog_date", "2024-00-00", None, ""),
    ("binlog_date", date(2024, 2, 29), date(2024, 2, 29), ""),
    ("binlog_timestamp", "0000-00-00 00:00:00", datetime(1970, 1, 1), ""),  # noqa: DTZ001
    ("binlog_instant", "0000-00-00 00:00:00", None, ""),
    ("binlog_instant", datetime(2024, 2, 29, 1), datetime(2024, 2, 29, 1, tzinfo=UTC), ""),  # noqa: DTZ001
    ("binlog_year", 0, 2000, ""),
    ("binlog_float", 1.67772e7, 16777217.0, ""),
    ("binlog_enum", "a,b", "a\\,b", ""),
]
DIFFERENT = [
    ("decimal", Decimal("12.50"), "12.51"),
    ("double", 0.1, 0.10000000149011612),
    ("text", "", None),
    ("text", " a", "a"),
    ("json", '{"a": 1}', '{"a": "1"}'),
    ("interval", "P30D", "P1M"),
    ("array text", ["a,b"], ["a", "b"]),
    ("array integer", [1, None], [1]),
    ("binlog_json", '{"a": 9007199254740993}', '{"a": 9007199254740992}'),
    ("json", '{"a": 0.1}', '{"a": 0.1000000000000000055511151231257827}'),
    ("bits", "10", b"\x01"),
    ("zoned_time", "12:30:00+02", "12:30:00Z"),
    ("network", "10.0.0.1", "10.0.0.1/16"),
    ("shape", "[(1,2),(3,4)]", b"((1.0,2.0),(3.0,4.0))"),
    ("shape", "(3,4),(1,2)", b"(3.0,4.0),(1.0,2.5)"),
    ("char", "ab    ", "ab"),
    ("binlog_date", date(2024, 2, 29), None),
    ("binlog_year", 2001, 2000),
    ("binlog_float", 1.5, 1.50001),
    ("binlog_enum", "a", "b"),
    ("decimal", Decimal("1.10"), Decimal("1.01")),
]


@pytest.mark.parametrize(("kind", "source", "silver", "doc"), EQUAL)
def test_the_same_value_has_the_same_form(kind, source, silver, doc):
    assert value_text(source, kind) == value_text(silver, kind, doc)
    assert not value_text(source, kind).startswith(b"?")


@pytest.mark.parametrize(("kind", "source", "silver"), DIFFERENT)
def test_another_value_has_another_form(kind, source, silver):
    assert value_text(source, kind) != value_text(silver, kind)
    assert canonical(source, kind) != canonical(silver, kind)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bytes", "text"),
        ("interval", "1 day"),
        ("time", "06:30"),
        ("array text", "a"),
        ("zoned_time", "06:30:00"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_the_value(kind, value):
    with pytest.raises(ValueError, match=value):
        canonical(value, kind)


def test_every_kind_of_the_databases_is_compared_at_least_once():
    kinds = {kind for kind, *_ in EQUAL}
    assert {*POSTGRESQL_KINDS.values(), *BINLOG_KINDS.values()} <= kinds


def test_an_array_of_postgresql_has_the_kind_of_its_elements():
    assert postgresql_kind("_numeric") == "array decimal"
    assert postgresql_kind("_some_enum") == "array text"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON)
def test_a_document_has_one_text_however_it_is_spelled(value):
    tight = json.dumps(value, separators=(",", ":"))
    loose = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    assert value_text(tight, "json") == value_text(loose, "json")


@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(0, 30))
def test_zeros_behind_the_point_are_no_difference(number, zeros):
    sign, digits, exponent = number.as_tuple()
    longer = Decimal((sign, digits + (0,) * zeros, exponent - zeros))
    assert value_text(number, "decimal") == value_text(longer, "decimal")
    assert value_text(number, "decimal") == value_text(str(longer), "decimal")


@given(st.lists(st.text()), st.lists(st.text()))
def test_only_equal_rows_have_one_digest(left, right):
    texts = [[value_text(value, "text") for value in row] for row in (left, right)]
    assert (digest(texts[0]) == digest(texts[1])) == (left == right)


@given(st.one_of(st.integers(), st.decimals(allow_nan=False)), st.integers())
def test_numbers_have_one_text_where_they_are_equal_alone(left, right):
    assert (value_text(left, "decimal") == value_text(right, "decimal")) == (left == right)


def test_a_damaged_value_is_a_difference_and_no_error():
    assert value_text("1 day", "interval") != value_text("P1D", "interval")
    assert value_text(b"\xff", "text") != value_text("\xff", "text")


@pytest.mark.parametrize(
    ("kind", "held", "cut"),
    [
        ("integer", "decimal(20,0)", "double"),
        ("integer", "boolean", "string"),
        ("decimal", "decimal(12,2)", "double"),
        ("timestamp", "timestamp_ntz", "bigint"),
        ("time", "bigint", "string"),
        ("array decimal", "array<decimal(4,2)>", "array<double>"),
        ("text", "string", "map<string,string>"),
    ],
)
def test_a_kind_is_compared_where_silver_holds_it_whole(kind, held, cut):
    assert is_held_as(kind, held)
    assert not is_held_as(kind, cut)
