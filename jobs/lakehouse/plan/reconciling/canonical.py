"""One form for a value of a source and for the same value in silver, so that `==` compares them.

kind        PostgreSQL          MySQL             silver            form
integer     int2 int4 int8      tinyint … bigint  int, long,        int
                                year              decimal(20,0),
                                                  boolean
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

What a connector is known to lose on the way (`connectors`) is left out of the form, so that it is
no difference: a decimal that is NaN or infinite is NULL, an array inside an array too, and dates
before 1583 are one value. A kind `binlog_…` is that of MySQL and MariaDB: a float has six digits,
a zero date, 1970-01-01 and NULL are one value, the years 0, 1900 and 2000 are, and a comma in a
value of an enum has no backslash.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from lakehouse.plan.reconciling import times
from lakehouse.plan.reconciling.kinds import ARRAY

# hashable or not, only compared with `==`
Canonical = object

_NUMBER = re.compile(r"-?\d[\d.]*(?:e[+-]?\d+)?", re.IGNORECASE)


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
    if kind.startswith(ARRAY):
        return _array(value, kind.removeprefix(ARRAY))
    if kind == "time" and isinstance(value, int):
        return times.microseconds(value, doc)
    return _FORMS.get(kind, _text)(value)


def _integer(value: object) -> Canonical:
    # A tinyint(1) that a statement declares as `bool` is one in silver.
    return int(value) if isinstance(value, int) else int(Decimal(str(value)))


def _decimal(value: object) -> Canonical:
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    return number if number.is_finite() else None


def _float(value: object) -> object:
    return _double(struct.unpack("f", struct.pack("f", float(str(value))))[0])


def _binlog_float(value: object) -> Canonical:
    return float(f"{_float(value):.6g}")


def _double(value: object) -> Canonical:
    number = value if isinstance(value, float) else float(str(value))
    return "NaN" if math.isnan(number) else number


def _binlog_year(value: object) -> Canonical:
    year = _integer(value)
    return 0 if year in (1900, 2000) else year


def _binlog_enum(value: object) -> Canonical:
    return _text(value).replace("\\,", ",")


def _bytes(value: object) -> Canonical:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise ValueError(f"{value!r}: expected bytes")
    return bytes(value)


def _json(value: object) -> Canonical:
    return json.loads(str(value), parse_float=Decimal, parse_int=Decimal)


def _array(value: object, kind: str) -> Canonical:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError(f"{value!r}: expected a list")
    if any(isinstance(item, Decimal) and not item.is_finite() for item in value):
        return None
    return tuple(None if isinstance(item, list) else canonical(item, kind) for item in value)


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
    "date": times.of_date,
    "binlog_date": times.of_binlog_date,
    "binlog_enum": _binlog_enum,
    "binlog_float": _binlog_float,
    "binlog_instant": times.of_binlog_instant,
    "binlog_timestamp": times.of_binlog_timestamp,
    "binlog_year": _binlog_year,
    "timestamp": _same,
    "instant": times.instant,
    "time": times.of_day,
    "interval": times.interval,
    "json": _json,
    "binlog_json": _binlog_json,
    "hstore": _json,
    "money": _decimal,
    "zoned_time": times.of_day_in_utc,
    "bits": _bits,
    "point": _point,
    "geometry": _geometry,
    "network": _network,
    "shape": _shape,
}
