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
money       money                                 decimal           Decimal without exponent
zoned_time  timetz                                string            microseconds in UTC
json        json jsonb                            string            parsed JSON, numbers exact
binlog_json                     json              string            parsed JSON, all numbers with a
                                                                    point or exponent as double
hstore      hstore                                string            parsed JSON
bits        bit varbit          bit               binary, boolean   int
point       point                                 struct            (x, y)
geometry                        geometry …        struct            WKB
network     inet                                  string            without /32 and /128
shape       box path circle …                     binary            its text, numbers as float
array KIND  _text …                               list              tuple of forms of KIND
char        char(n)                               string            str, blanks included
text        everything else, as the database writes it: text, or the bytes of it

Floats that differ in their sign only, 0.0 and -0.0, are equal here, as they are in SQL; all NaN are
one value. Of a bit string the number counts, not how many zeros stand before it.
"""

from __future__ import annotations

import json
import math
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
    "timetz": "zoned_time",
    "json": "json",
    "jsonb": "json",
    "hstore": "hstore",
    "money": "money",
    "bpchar": "char",
    "oid": "integer",
    "bit": "bits",
    "varbit": "bits",
    "point": "point",
    "inet": "network",
    **dict.fromkeys(("box", "circle", "line", "lseg", "path", "polygon"), "shape"),
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
    "bit": "bits",
    "binary": "bytes",
    "varbinary": "bytes",
    "tinyblob": "bytes",
    "blob": "bytes",
    "mediumblob": "bytes",
    "longblob": "bytes",
    "date": "date",
    "datetime": "timestamp",
    "timestamp": "instant",
    "time": "time",
    "json": "binlog_json",
    **dict.fromkeys(
        (
            "geometry",
            "point",
            "linestring",
            "polygon",
            "multipoint",
            "multilinestring",
            "multipolygon",
            "geometrycollection",
            "geomcollection",
        ),
        "geometry",
    ),
}
_ARRAY = "array "

_INTERVAL = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?"
    r"(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+(?:\.\d+)?)S)?)?"
)
_NUMBER = re.compile(r"-?\d[\d.]*(?:e[+-]?\d+)?", re.IGNORECASE)
_UNITS_PER_SECOND = {"milliseconds": 1_000, "microseconds": 1_000_000, "nanoseconds": 10**9}


def postgresql_kind(type_name: str) -> str:
    """The kind of a type as `udt_name` has it: an array's begins with `_`."""
    if type_name.startswith("_"):
        return _ARRAY + postgresql_kind(type_name.removeprefix("_"))
    return POSTGRESQL_KINDS.get(type_name, "text")


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
    if kind.startswith(_ARRAY):
        return _array(value, kind.removeprefix(_ARRAY))
    if kind == "time" and isinstance(value, int):
        return _microseconds(value, doc)
    return _FORMS.get(kind, _text)(value)


def _microseconds(count: int, doc: str) -> int:
    unit = next((unit for unit in _UNITS_PER_SECOND if unit in doc), "microseconds")
    return count * 1_000_000 // _UNITS_PER_SECOND[unit]


def _integer(value: object) -> Canonical:
    return int(Decimal(str(value)))


def _decimal(value: object) -> Canonical:
    return Decimal(str(value))


def _float(value: object) -> Canonical:
    return _double(struct.unpack("f", struct.pack("f", float(str(value))))[0])


def _double(value: object) -> Canonical:
    number = float(str(value))
    return "NaN" if math.isnan(number) else number


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


def _array(value: object, kind: str) -> Canonical:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError(f"{value!r}: expected a list")
    return tuple(
        _array(item, kind) if isinstance(item, list) else canonical(item, kind) for item in value
    )


def _zoned_time(value: object) -> Canonical:
    moment = time.fromisoformat(str(value))
    offset = moment.utcoffset()
    if offset is None:
        raise ValueError(f"{value!r}: expected a time of day with its zone")
    of_day = timedelta(
        hours=moment.hour,
        minutes=moment.minute,
        seconds=moment.second,
        microseconds=moment.microsecond,
    )
    return ((of_day - offset) % timedelta(days=1)) // timedelta(microseconds=1)


def _bits(value: object) -> Canonical:
    # Debezium sends the lowest byte first; databases give a number, or digits.
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, bytes):
        return int.from_bytes(value, "little")
    return int(value, 2) if isinstance(value, str) else int(str(value))


def _binlog_json(value: object) -> Canonical:
    # The server keeps such numbers as doubles; source snapshots and the binlog differ in digits.
    return json.loads(str(value))


def _point(value: object) -> Canonical:
    if isinstance(value, Mapping):
        return (float(value["x"]), float(value["y"]))
    x, y = str(value).strip("()").split(",")
    return (float(x), float(y))


def _geometry(value: object) -> Canonical:
    return _bytes(value["wkb"] if isinstance(value, Mapping) else value)


def _network(value: object) -> Canonical:
    text = str(value)
    return text.removesuffix("/128" if ":" in text else "/32")


def _text(value: object) -> str:
    # Types that the connector does not know are sent as the bytes of their text.
    return value.decode() if isinstance(value, bytes) else str(value)


def _shape(value: object) -> Canonical:
    text = _text(value)
    return (_NUMBER.sub("#", text), tuple(map(float, _NUMBER.findall(text))))


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
    "binlog_json": _binlog_json,
    "hstore": _json,
    "money": _decimal,
    "zoned_time": _zoned_time,
    "bits": _bits,
    "point": _point,
    "geometry": _geometry,
    "network": _network,
    "shape": _shape,
}
