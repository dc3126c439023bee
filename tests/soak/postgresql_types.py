"""The types of PostgreSQL that its connector reads, with the range that survives the wire.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-data-types
Left out, since what arrives is nothing or not their value, see `unsurviving`: `name`, generated
columns, arrays of arrays.
"""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime
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
    json_texts,
    long_texts,
    sequence_text,
    singles,
    texts,
    whole,
)

EXTENSIONS = ("citext", "hstore", "ltree")
PREPARE = (
    *(f"CREATE EXTENSION IF NOT EXISTS {name}" for name in EXTENSIONS),
    "CREATE TYPE soak_mood AS ENUM ('sad', 'ok', 'happy, very', 'a \"quote\"', 'größer')",
    "CREATE TYPE soak_pair AS (number int, word text)",
    "CREATE DOMAIN soak_positive AS int CHECK (value > 0)",
)
_MOODS = ("sad", "ok", "happy, very", 'a "quote"', "größer")
# Julian dates come out wrong in source snapshots, years above 9999 have no date in silver.
_DAYS = dates(date(1583, 1, 1), date(9999, 12, 31))
_LETTERS = "ab ,'\"\\{}é恵😀\n"


def _moments(digits: int):
    return datetimes(datetime(1583, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), digits)  # noqa: DTZ001


def _instants(digits: int):
    first = datetime(1583, 1, 1, tzinfo=UTC)
    return datetimes(first, datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), digits)


def _uuids(random: Random) -> str:
    return str(uuid.UUID(int=random.getrandbits(128)))


def _intervals(random: Random) -> str:
    parts = [random.randrange(-30, 30) for _ in range(6)]
    micros = random.choice((0, random.randrange(1_000_000)))
    return (
        f"{parts[0]} years {parts[1]} mons {parts[2]} days "
        f"{parts[3]} hours {parts[4]} mins {abs(parts[5])}.{micros:06} secs"
    )


def _bit_texts(length: int):
    return lambda random: f"{random.getrandbits(length):0{length}b}"


def _varbits(random: Random) -> str:
    # Zeros at the beginning do not arrive.
    return f"1{random.getrandbits(12):b}"


def _addresses(random: Random) -> str:
    if random.random() < 0.3:
        return f"2001:db8::{random.randrange(1, 65535):x}"
    return ".".join(str(random.randrange(256)) for _ in range(4))


def _with_prefix(random: Random) -> str:
    return random.choice((_addresses(random), f"10.{random.randrange(256)}.0.1/16"))


def _ranges(low: object, high: object):
    return choice("empty", f"[{low},{high})", f"({low},{high}]", f"[{low},)", "(,)")


TYPES: tuple[ColumnType, ...] = (
    ColumnType("smallint", whole(-(2**15), 2**15 - 1)),
    ColumnType("integer", whole(-(2**31), 2**31 - 1)),
    ColumnType("bigint", whole(-(2**63), 2**63 - 1)),
    ColumnType("oid", whole(0, 2**32 - 1)),
    ColumnType("soak_positive", whole(1, 2**31 - 1)),
    ColumnType("numeric(10,2)", decimals(10, 2)),
    ColumnType("numeric(38,10)", decimals(38, 10)),
    ColumnType("numeric(60,20)", decimals(60, 20)),
    ColumnType("numeric", decimals(30, 12)),
    ColumnType("real", singles),
    ColumnType("double precision", doubles(300)),
    ColumnType("money", decimals(12, 2), "%s::numeric::money"),
    ColumnType("boolean", choice(True, False)),
    ColumnType("char(6)", texts(6)),
    ColumnType("varchar(80)", texts(80)),
    ColumnType("text", texts(200)),
    ColumnType("text", long_texts),
    ColumnType("citext", texts(30)),
    ColumnType("bytea", blobs(64)),
    ColumnType("bytea", blobs(6000)),
    ColumnType("date", _DAYS),
    ColumnType("time", clock_times(0, 86399, 6)),
    ColumnType("time(3)", clock_times(0, 86399, 3)),
    ColumnType("time(0)", clock_times(0, 86399, 0)),
    ColumnType("timetz", lambda random: clock_times(0, 86399, 6)(random) + "+00"),
    ColumnType("timestamp", _moments(6)),
    ColumnType("timestamp(3)", _moments(3)),
    ColumnType("timestamp(0)", _moments(0)),
    ColumnType("timestamptz", _instants(6)),
    ColumnType("timestamptz(2)", _instants(2)),
    ColumnType("interval", _intervals),
    ColumnType("uuid", _uuids),
    ColumnType("json", json_texts),
    ColumnType("jsonb", json_texts),
    ColumnType("xml", choice("<a/>", '<a b="1">täxt &amp; so</a>', "<x><y>1</y></x>")),
    ColumnType("soak_mood", choice(*_MOODS)),
    ColumnType("hstore", choice("", '"a"=>"1"', '"a"=>NULL, "b c"=>"x \\"y\\""', '"é"=>"恵"')),
    ColumnType("ltree", choice("Top", "Top.Science.Astronomy", "a_b.c1")),
    ColumnType("tsvector", choice("", "'a':1 'fat':2,4", "'cat':3A 'rat'")),
    ColumnType("tsquery", choice("'fat' & 'rat'", "!'cat' | 'x':*")),
    ColumnType("inet", _with_prefix),
    ColumnType("cidr", choice("10.0.0.0/8", "192.168.1.0/24", "2001:db8::/32", "1.2.3.4/32")),
    ColumnType("macaddr", choice("08:00:2b:01:02:03", "ff:ff:ff:ff:ff:ff")),
    ColumnType("macaddr8", choice("08:00:2b:01:02:03:04:05")),
    ColumnType("bit(1)", _bit_texts(1)),
    ColumnType("bit(8)", _bit_texts(8)),
    ColumnType("bit(37)", _bit_texts(37)),
    ColumnType("bit varying(20)", _varbits),
    ColumnType("int4range", _ranges(-5, 700)),
    ColumnType("int8range", _ranges(-5, 2**40)),
    ColumnType("numrange", _ranges("-1.50", "2.25")),
    ColumnType("daterange", _ranges("1990-01-01", "2030-12-31")),
    ColumnType("tsrange", _ranges('"2000-01-01 00:00:00"', '"2020-02-29 12:00:00.5"')),
    ColumnType("tstzrange", _ranges('"2000-01-01 00:00:00+00"', '"2020-02-29 12:00:00+00"')),
    ColumnType("int4multirange", choice("{}", "{[1,5),[7,9)}")),
    ColumnType("point", choice("(1.5,-2)", "(0,0)", "(1e100,-3.25)")),
    ColumnType("box", choice("(3,4),(1,2)")),
    ColumnType("circle", choice("<(1,2),3.5>")),
    ColumnType("lseg", choice("[(1,2),(3,4)]")),
    ColumnType("line", choice("{1,-2,3}")),
    ColumnType("path", choice("((1,2),(3,4),(5,6))", "[(1,2),(3,4)]")),
    ColumnType("polygon", choice("((1,2),(3,4),(5,6))")),
    ColumnType("pg_lsn", choice("16/B374D848", "0/0")),
    ColumnType("jsonpath", choice('$."a"[*]?(@ > 1)')),
    ColumnType("soak_pair", choice('(1,"a b")', "(,)", '(-5,"q""q")')),
    ColumnType("smallint[]", sequence_text(whole(-(2**15), 2**15 - 1))),
    ColumnType("integer[]", sequence_text(whole(-(2**31), 2**31 - 1))),
    ColumnType("bigint[]", sequence_text(whole(-(2**63), 2**63 - 1))),
    ColumnType("numeric(10,2)[]", sequence_text(decimals(10, 2))),
    ColumnType("real[]", sequence_text(singles)),
    ColumnType("double precision[]", sequence_text(doubles(300))),
    ColumnType("boolean[]", sequence_text(choice("t", "f"))),
    ColumnType("text[]", sequence_text(texts(20, _LETTERS))),
    ColumnType("varchar(9)[]", sequence_text(texts(9, _LETTERS))),
    ColumnType("date[]", sequence_text(_DAYS)),
    ColumnType("uuid[]", sequence_text(_uuids)),
    ColumnType("inet[]", sequence_text(_addresses)),
    # With a null element the whole array arrives as null.
    ColumnType("soak_mood[]", choice("{}", '{sad,"happy, very"}', '{größer,"a \\"quote\\""}')),
    ColumnType("citext[]", sequence_text(texts(20, _LETTERS))),
    ColumnType("timestamp[]", sequence_text(_moments(6))),
    ColumnType("jsonb[]", sequence_text(json_texts)),
)
