"""Dates, times and intervals in the one form that `canonical` compares them in.

A value that is not one of its kind raises ValueError.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

_INTERVAL = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?"
    r"(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d+)?)S)?)?"
)
# Before it some connectors shift dates by the days between two calendars.
_FIRST_YEAR = 1583
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a time without zone
_UNITS_PER_SECOND = {"milliseconds": 1_000, "microseconds": 1_000_000, "nanoseconds": 10**9}


def microseconds(count: int, doc: str) -> int:
    """A time of day that silver has as a number, whose unit its column's doc names."""
    unit = next((unit for unit in _UNITS_PER_SECOND if unit in doc), "microseconds")
    return count * 1_000_000 // _UNITS_PER_SECOND[unit]


def of_date(value: object) -> object:
    """A date; early ones are one value."""
    return "early" if isinstance(value, date) and value.year < _FIRST_YEAR else value


def of_binlog_date(value: object) -> object:
    """A date of MySQL or MariaDB."""
    # The client gives a zero date, and a month or a day of zero, as text.
    return None if isinstance(value, str) or value == _EPOCH.date() else of_date(value)


def instant(value: object) -> object:
    """A time with zone, in UTC."""
    if not isinstance(value, datetime):
        raise ValueError(f"{value!r}: expected a time with its zone")
    # MySQL's client gives the session's zone, which is UTC, without naming it.
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)


def of_binlog_timestamp(value: object) -> object:
    """A time without zone of MySQL or MariaDB."""
    if isinstance(value, str) or value == _EPOCH:
        return None
    return "early" if isinstance(value, datetime) and value.year < _FIRST_YEAR else value


def of_binlog_instant(value: object) -> object:
    """A time with zone of MySQL or MariaDB."""
    moment = None if isinstance(value, str) else instant(value)
    return None if moment == _EPOCH.replace(tzinfo=UTC) else moment


def of_day(value: object) -> object:
    """A time of day, in microseconds."""
    if isinstance(value, time):
        value = _since_midnight(value)
    if not isinstance(value, timedelta):
        raise ValueError(f"{value!r}: expected a time of day")
    return value // timedelta(microseconds=1)


def of_day_in_utc(value: object) -> object:
    """A time of day with zone, in microseconds of the day in UTC."""
    moment = time.fromisoformat(str(value))
    offset = moment.utcoffset()
    if offset is None:
        raise ValueError(f"{value!r}: expected a time of day with its zone")
    in_utc = (_since_midnight(moment) - offset) % timedelta(days=1)
    return in_utc // timedelta(microseconds=1)


def interval(value: object) -> object:
    """An interval: months, days, microseconds."""
    found = _INTERVAL.fullmatch(str(value))
    if found is None:
        raise ValueError(f"{value!r}: expected an ISO 8601 interval")
    years, months, days, hours, minutes = (int(part or 0) for part in found.groups()[:5])
    seconds = Decimal(found.group(6) or 0)
    return (years * 12 + months, days, int((hours * 3600 + minutes * 60 + seconds) * 1_000_000))


def _since_midnight(moment: time) -> timedelta:
    return timedelta(
        hours=moment.hour,
        minutes=moment.minute,
        seconds=moment.second,
        microseconds=moment.microsecond,
    )
