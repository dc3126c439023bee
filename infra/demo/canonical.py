"""One form for a value of a source and for the same value in silver, so that `==` compares them.

kind        PostgreSQL          MySQL             silver            form
integer     int2 int4 int8      tinyint … bigint  int, long,        int
                                year              decimal(20,0)
decimal     numeric             decimal           decimal, string   Decimal without exponent
float       float4              float             float             nearest 32 bit float
double      float8              double            double            float
boolean     bool                                  boolean           bool
bytes       bytea               binary, blob      binary            bytes
date        date                date              date              date
timestamp   timestamp           datetime          timestamp         datetime without zone
instant     timestamptz         timestamp         timestamptz       datetime in UTC
time        time                time              long (unit in     microseconds
                                                  the column's doc)
interval    interval                              string            months, days, microseconds
json        json jsonb          json              string            parsed JSON
array       _text …                               list              tuple of text
text        everything else, as the database writes it              str
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

# hashable or not, only compared with `==`
Canonical = object

POSTGRESQL_KINDS: Mapping[str, str] = {
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "numeric": "decimal",
    "float4": "float",
    "float8": "double",
    "bool": "boolean",
    "bytea": "bytes",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "instant",
    "time": "time",
    "interval": "interval",
    "json": "json",
    "jsonb": "json",
    "_text": "array",
}
MYSQL_KINDS: Mapping[str, str] = {
    "tinyint": "integer",
    "smallint": "integer",
    "mediumint": "integer",
    "int": "integer",
    "bigint": "integer",
    "year": "integer",
    "decimal": "decimal",
    "float": "float",
    "double": "double",
    "binary": "bytes",
    "varbinary": "bytes",
    "blob": "bytes",
    "date": "date",
    "datetime": "timestamp",
    "timestamp": "instant",
    "time": "time",
    "json": "json",
}

_INTERVAL = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?"
    r"(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d+)?)S)?)?"
)
_UNITS_PER_SECOND = {"milliseconds": 1_000, "microseconds": 1_000_000, "nanoseconds": 10**9}


def canonical(value: object, kind: str, doc: str = "") -> Canonical:
    """The comparable form of a value; None stays None.

    Args:
        value: As the database's or PyIceberg's client gives it.
        kind: One of the table above.
        doc: The silver column's doc, which names the unit of times of day.

    Raises:
        ValueError: The value is not one of its kind.
    """
    if value is None:
        return None
    if kind == "time" and isinstance(value, int):
        return _microseconds(value, doc)
    return _FORMS.get(kind, str)(value)


def _microseconds(count: int, doc: str) -> int:
    unit = next((unit for unit in _UNITS_PER_SECOND if unit in doc), "microseconds")
    return count * 1_000_000 // _UNITS_PER_SECOND[unit]


def _integer(value: object) -> Canonical:
    return int(Decimal(str(value)))


def _decimal(value: object) -> Canonical:
    return Decimal(str(value))


def _float(value: object) -> Canonical:
    return struct.unpack("f", struct.pack("f", float(str(value))))[0]


def _double(value: object) -> Canonical:
    return float(str(value))


def _bytes(value: object) -> Canonical:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise ValueError(f"{value!r}: expected bytes")
    return bytes(value)


def _instant(value: object) -> Canonical:
    if not isinstance(value, datetime):
        raise ValueError(f"{value!r}: expected a time with its zone")
    # MySQL's client gives the session's zone, which is UTC, without naming it.
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)


def _time(value: object) -> Canonical:
    if isinstance(value, time):
        value = timedelta(
            hours=value.hour,
            minutes=value.minute,
            seconds=value.second,
            microseconds=value.microsecond,
        )
    if not isinstance(value, timedelta):
        raise ValueError(f"{value!r}: expected a time of day")
    return value // timedelta(microseconds=1)


def _interval(value: object) -> Canonical:
    found = _INTERVAL.fullmatch(str(value))
    if found is None:
        raise ValueError(f"{value!r}: expected an ISO 8601 interval")
    years, months, days, hours, minutes = (int(part or 0) for part in found.groups()[:5])
    seconds = Decimal(found.group(6) or 0)
    return (years * 12 + months, days, int((hours * 3600 + minutes * 60 + seconds) * 1_000_000))


def _json(value: object) -> Canonical:
    return json.loads(str(value), parse_float=Decimal)


def _array(value: object) -> Canonical:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError(f"{value!r}: expected a list")
    return tuple(None if item is None else str(item) for item in value)


def _same(value: object) -> Canonical:
    return value


_FORMS: Mapping[str, Callable[[object], Canonical]] = {
    "integer": _integer,
    "decimal": _decimal,
    "float": _float,
    "double": _double,
    "boolean": _same,
    "bytes": _bytes,
    "date": _same,
    "timestamp": _same,
    "instant": _instant,
    "time": _time,
    "interval": _interval,
    "json": _json,
    "array": _array,
}
