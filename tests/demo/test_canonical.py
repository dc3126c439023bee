"""Values of a database and of silver have one form, and only equal values are equal in it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import pytest

from infra.demo.canonical import MYSQL_KINDS, POSTGRESQL_KINDS, canonical, postgresql_kind

PARIS = timezone(timedelta(hours=2))

# kind, value of the database, value of silver, doc of silver's column
EQUAL = [
    ("integer", 2**64 - 1, Decimal(18446744073709551615), ""),
    ("integer", 2155, 2155, ""),
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
]


@pytest.mark.parametrize(("kind", "source", "silver", "doc"), EQUAL)
def test_the_same_value_has_the_same_form(kind, source, silver, doc):
    assert canonical(source, kind) == canonical(silver, kind, doc)


@pytest.mark.parametrize(("kind", "source", "silver"), DIFFERENT)
def test_another_value_has_another_form(kind, source, silver):
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
    assert {*POSTGRESQL_KINDS.values(), *MYSQL_KINDS.values()} <= kinds


def test_an_array_of_postgresql_has_the_kind_of_its_elements():
    assert postgresql_kind("_numeric") == "array decimal"
    assert postgresql_kind("_some_enum") == "array text"
