"""Values of a database and of silver have one form, and only equal values are equal in it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import pytest

from infra.demo.canonical import MYSQL_KINDS, POSTGRESQL_KINDS, canonical

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
    ("array", ["new", "with, comma", None], ["new", "with, comma", None], ""),
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
    ("array", ["a,b"], ["a", "b"]),
]


@pytest.mark.parametrize(("kind", "source", "silver", "doc"), EQUAL)
def test_the_same_value_has_the_same_form(kind, source, silver, doc):
    assert canonical(source, kind) == canonical(silver, kind, doc)


@pytest.mark.parametrize(("kind", "source", "silver"), DIFFERENT)
def test_another_value_has_another_form(kind, source, silver):
    assert canonical(source, kind) != canonical(silver, kind)


@pytest.mark.parametrize(
    ("kind", "value"), [("bytes", "text"), ("interval", "1 day"), ("time", "06:30"), ("array", "a")]
)
def test_a_value_of_another_kind_is_refused_with_the_value(kind, value):
    with pytest.raises(ValueError, match=value):
        canonical(value, kind)


def test_every_kind_of_the_databases_is_compared_at_least_once():
    kinds = {kind for kind, *_ in EQUAL}
    assert {*POSTGRESQL_KINDS.values(), *MYSQL_KINDS.values()} <= kinds
