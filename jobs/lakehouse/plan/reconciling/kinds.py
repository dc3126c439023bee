"""Kinds of values: how a database's type is brought into the form that silver's value gets too.

In: the name of a type as `information_schema` has it. Out: a kind, see `canonical`; and which types
of silver hold its values as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# The connectors whose databases are read.
DATABASES = ("mariadb", "mysql", "postgresql")
ARRAY = "array "
TEXT = "text"

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
BINLOG_KINDS: Mapping[str, str] = {
    "tinyint": "integer",
    "smallint": "integer",
    "mediumint": "integer",
    "int": "integer",
    "bigint": "integer",
    "year": "binlog_year",
    "decimal": "decimal",
    "float": "binlog_float",
    "double": "double",
    "bit": "bits",
    "binary": "bytes",
    "varbinary": "bytes",
    "tinyblob": "bytes",
    "blob": "bytes",
    "mediumblob": "bytes",
    "longblob": "bytes",
    "date": "binlog_date",
    "datetime": "binlog_timestamp",
    "timestamp": "binlog_instant",
    "time": "time",
    "enum": "binlog_enum",
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

_INTEGERS = r"tinyint|smallint|int|bigint|decimal\(\d+,0\)"
_DECIMALS = r"decimal\(\d+,\d+\)|string"
# The types of silver whose values are those of the kind, nothing cut off and nothing rounded.
_HELD_AS: Mapping[str, str] = {
    # Whatever a column that a statement declares as `bool` has besides 0 and 1 is a difference.
    "integer": f"{_INTEGERS}|boolean",
    "binlog_year": _INTEGERS,
    "decimal": _DECIMALS,
    "money": _DECIMALS,
    "float": "float",
    "binlog_float": "float",
    "double": "double",
    "boolean": "boolean",
    "bytes": "binary",
    "date": "date",
    "binlog_date": "date",
    "timestamp": "timestamp_ntz",
    "binlog_timestamp": "timestamp_ntz",
    "instant": "timestamp",
    "binlog_instant": "timestamp",
    "time": "bigint",
    "bits": "binary|boolean",
    "point": "struct<.*",
    "geometry": "struct<.*",
}
_TEXTS = "string|binary"
# Inside an array other kinds come from the database in a form that silver's text does not have.
_IN_ARRAYS = frozenset(
    (
        "integer",
        "decimal",
        "float",
        "double",
        "boolean",
        "bytes",
        "char",
        "date",
        "instant",
        "json",
        "network",
        "text",
        "timestamp",
    )
)


def postgresql_kind(type_name: str) -> str:
    """The kind of a type as `udt_name` has it: an array's begins with `_`."""
    if type_name.startswith("_"):
        return ARRAY + postgresql_kind(type_name.removeprefix("_"))
    return POSTGRESQL_KINDS.get(type_name, TEXT)


def binlog_kind(type_name: str) -> str:
    """The kind of a type of MySQL or MariaDB as `data_type` has it."""
    return BINLOG_KINDS.get(type_name, TEXT)


def is_held_as(kind: str, silver_type: str) -> bool:
    """Whether silver's type, as Spark spells it, holds the values of a kind as they are."""
    if kind.startswith(ARRAY):
        found = re.fullmatch(r"array<(.*)>", silver_type)
        element = kind.removeprefix(ARRAY)
        return found is not None and element in _IN_ARRAYS and is_held_as(element, found[1])
    return re.fullmatch(_HELD_AS.get(kind, _TEXTS), silver_type) is not None
