"""The types of MySQL and MariaDB that their connectors read, with the range that survives.

https://debezium.io/documentation/reference/stable/connectors/mysql.html#mysql-data-types
Left out: MariaDB's `uuid` and `inet6`, whose DDL its connector 3.5.0 cannot read.
"""

from __future__ import annotations

from datetime import date, datetime
from random import Random

from tests.soak.columns import (
    ColumnType,
    blobs,
    choice,
    clock_times,
    dates,
    datetimes,
    decimals,
    doubles,
    fixed_blobs,
    json_texts,
    long_texts,
    texts,
    whole,
)

_LAST = datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001
_LONGEST_TIME = 838 * 3600 + 59 * 60 + 59
_GEOMETRY = "ST_GeomFromText(%s)"
_LATIN = "ab 'ÄÖü\\\"ß,"


def _moments(digits: int):
    # Julian dates come out wrong in source snapshots.
    return datetimes(datetime(1583, 1, 1), _LAST, digits)  # noqa: DTZ001


def _instants(digits: int):
    return datetimes(datetime(1970, 1, 2), datetime(2038, 1, 18), digits)  # noqa: DTZ001


def _six_digits(random: Random) -> float:
    # The server writes and its clients read a `float` with six digits.
    return float(f"{random.uniform(-1, 1) * 10.0 ** random.randrange(-30, 30):.6g}")


def _sets(random: Random) -> str:
    return ",".join(member for member in ("a", "b", "größer") if random.random() < 0.5)


TYPES: tuple[ColumnType, ...] = (
    ColumnType("tinyint", whole(-128, 127)),
    ColumnType("tinyint unsigned", whole(0, 255)),
    ColumnType("tinyint(1)", choice(0, 1, -128, 127)),
    ColumnType("smallint", whole(-(2**15), 2**15 - 1)),
    ColumnType("smallint unsigned", whole(0, 2**16 - 1)),
    ColumnType("mediumint", whole(-(2**23), 2**23 - 1)),
    ColumnType("mediumint unsigned", whole(0, 2**24 - 1)),
    ColumnType("int", whole(-(2**31), 2**31 - 1)),
    ColumnType("int unsigned", whole(0, 2**32 - 1)),
    ColumnType("bigint", whole(-(2**63), 2**63 - 1)),
    ColumnType("bigint unsigned", whole(0, 2**64 - 1)),
    ColumnType("decimal(10,2)", decimals(10, 2)),
    ColumnType("decimal(38,10)", decimals(38, 10)),
    ColumnType("decimal(65,30)", decimals(65, 30)),
    ColumnType("float", _six_digits),
    ColumnType("double", doubles(300)),
    ColumnType("bit(1)", choice(0, 1)),
    ColumnType("bit(8)", whole(0, 255)),
    ColumnType("bit(64)", whole(0, 2**64 - 1)),
    ColumnType("date", dates(date(1583, 1, 1), date(9999, 12, 31))),
    ColumnType("time", clock_times(-_LONGEST_TIME, _LONGEST_TIME, 0)),
    ColumnType("time(3)", clock_times(-_LONGEST_TIME, _LONGEST_TIME, 3)),
    ColumnType("time(6)", clock_times(-_LONGEST_TIME, _LONGEST_TIME, 6)),
    ColumnType("datetime", _moments(0)),
    ColumnType("datetime(3)", _moments(3)),
    ColumnType("datetime(6)", _moments(6)),
    ColumnType("timestamp", _instants(0)),
    ColumnType("timestamp(3)", _instants(3)),
    ColumnType("timestamp(6)", _instants(6)),
    ColumnType("year", whole(1901, 2155)),
    # The server cuts blanks off the end of a `char`.
    ColumnType("char(6)", lambda random: texts(6)(random).rstrip(" ")),
    ColumnType("varchar(80)", texts(80)),
    ColumnType("varchar(40) character set latin1", texts(40, _LATIN)),
    ColumnType("tinytext", texts(40)),
    ColumnType("text", texts(200)),
    ColumnType("mediumtext", texts(200)),
    ColumnType("longtext", long_texts),
    ColumnType("binary(8)", fixed_blobs(8)),
    ColumnType("varbinary(64)", blobs(64)),
    ColumnType("tinyblob", blobs(200)),
    ColumnType("blob", blobs(6000)),
    ColumnType("mediumblob", blobs(200)),
    ColumnType("longblob", blobs(200)),
    ColumnType("enum('sad','ok','größer','a ''quote''')", choice("sad", "ok", "größer")),
    ColumnType("set('a','b','größer')", _sets),
    ColumnType("json", json_texts),
    ColumnType("point", choice("POINT(1.5 -2)", "POINT(0 0)"), _GEOMETRY),
    ColumnType("geometry", choice("POINT(3 4)", "LINESTRING(0 0,1 1)"), _GEOMETRY),
    ColumnType("linestring", choice("LINESTRING(0 0,1 1,2 3)"), _GEOMETRY),
    ColumnType("polygon", choice("POLYGON((0 0,4 0,4 4,0 0))"), _GEOMETRY),
    ColumnType("multipoint", choice("MULTIPOINT(0 0,1 2)"), _GEOMETRY),
    ColumnType("multilinestring", choice("MULTILINESTRING((0 0,1 1),(2 2,3 3))"), _GEOMETRY),
    ColumnType("multipolygon", choice("MULTIPOLYGON(((0 0,4 0,4 4,0 0)))"), _GEOMETRY),
    ColumnType("geometrycollection", choice("GEOMETRYCOLLECTION(POINT(1 2))"), _GEOMETRY),
)
