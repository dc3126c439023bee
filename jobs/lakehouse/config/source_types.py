"""Types of columns as sources name them: the one list of what a TOML file may declare.

In: text such as `decimal(12,4)`, `BIGINT(20) UNSIGNED` or `timestamp(6) with time zone`. Out: the
family that decides how its values are read, with its sizes. `plan.schemas.row_schema` has the
rules of each family. MySQL's and TiDB's: https://docs.pingcap.com/tidb/stable/data-type-overview/
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Family(StrEnum):
    """Types whose values are read alike."""

    INT = "int"
    LONG = "long"
    UNSIGNED_LONG = "unsigned_long"
    FLOAT = "float"
    DOUBLE = "double"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    BITS = "bits"
    BINARY = "binary"
    TEXT = "text"
    DATE = "date"
    DATETIME = "datetime"
    """Date and time of day without a zone."""
    TIMESTAMP = "timestamp"
    """With a zone or without one, as the connector's source has it."""
    ZONED = "zoned"
    TIME = "time"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class SourceType:
    """A type as a source names it.

    Attributes:
        name: In lower case and without sizes, such as `bigint unsigned`.
        size: The first number in brackets, or what the source takes where it is left out; None
            where it decides nothing.
        scale: The second one.
    """

    name: str
    family: Family
    size: int | None = None
    scale: int = 0


TYPES_OF: Mapping[Family, tuple[str, ...]] = {
    Family.INT: (
        *("tinyint", "smallint", "mediumint", "int", "integer", "int2", "int4"),
        *("tinyint unsigned", "smallint unsigned", "mediumint unsigned"),
    ),
    Family.LONG: ("bigint", "int8", "int unsigned", "integer unsigned"),
    Family.UNSIGNED_LONG: ("bigint unsigned",),
    Family.FLOAT: ("float", "real", "float4", "binary_float"),
    Family.DOUBLE: ("double", "double precision", "float8", "binary_double"),
    Family.DECIMAL: ("decimal", "numeric", "number", "dec", "fixed"),
    Family.BOOLEAN: ("bool", "boolean"),
    Family.BITS: ("bit", "bit varying", "varbit"),
    Family.BINARY: (
        *("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"),
        *("bytea", "raw", "image"),
    ),
    Family.TEXT: (
        *("char", "character", "varchar", "character varying", "nchar", "nvarchar", "bpchar"),
        *("char2", "varchar2", "nchar2", "nvarchar2", "string", "citext"),
        *("tinytext", "text", "mediumtext", "longtext", "ntext", "clob", "nclob", "vector"),
        *("timetz", "time with time zone", "json", "jsonb", "xml", "uuid", "uniqueidentifier"),
        *("enum", "set"),
    ),
    Family.DATE: ("date",),
    Family.DATETIME: ("datetime", "smalldatetime", "datetime2", "timestamp without time zone"),
    Family.TIMESTAMP: ("timestamp",),
    Family.ZONED: (
        *("timestamptz", "timestamp with time zone", "timestamp with local time zone"),
        "datetimeoffset",
    ),
    Family.TIME: ("time", "time without time zone"),
    Family.YEAR: ("year",),
}
_FAMILIES = {name: family for family, names in TYPES_OF.items() for name in names}
# Digits behind the second where the type does not say them, and bits.
_DEFAULT_SIZES = {
    "bit": 1,
    "datetime": 0,
    "datetime2": 7,
    "smalldatetime": 0,
    "timestamp": 6,
    "timestamp without time zone": 6,
}
# Words that do not change how the values of these families are read.
_ANY_SIGN = (Family.FLOAT, Family.DOUBLE, Family.DECIMAL)
_SHAPE = re.compile(r"([^()]+?) ?(?:\((.*)\))?((?: [a-z ]+)?)")
_SIZES = re.compile(r" ?(\d{1,4}) ?(?:, ?(\d{1,4}) ?)?")
_EXAMPLES = '"bigint unsigned", "decimal(12,4)" or "datetime(6)"'
EXPECTED_TYPE = f"a type of the source such as {_EXAMPLES}"


def parse_source_type(text: str) -> SourceType:
    """Read a type as a source names it.

    Args:
        text: In any case, with any white space.

    Raises:
        ValueError: No rule knows it.
    """
    found = _SHAPE.fullmatch(" ".join(text.lower().split()))
    if found is None:
        raise ValueError("not a type")
    name = _name_of(f"{found[1]}{found[3]}")
    family = _FAMILIES.get(name)
    if family is None:
        near = difflib.get_close_matches(name, _FAMILIES, n=1)
        raise ValueError(f"did you mean {near[0]!r}?" if near else "not a type that is known")
    if name in ("enum", "set"):
        return SourceType(name, family)
    sizes = _SIZES.fullmatch(found[2] or "")
    if found[2] is not None and sizes is None:
        raise ValueError("its size is no number")
    if family is Family.DECIMAL and (sizes is None or int(sizes[1]) == 0):
        raise ValueError("a decimal needs its digits")
    size = int(sizes[1]) if sizes else _DEFAULT_SIZES.get(name)
    return SourceType(name, family, size, int(sizes[2] or 0) if sizes else 0)


def _name_of(text: str) -> str:
    """Without the words that say nothing; ZEROFILL is unsigned, too."""
    words = text.split()
    is_unsigned = "unsigned" in words or "zerofill" in words
    bare = " ".join(word for word in words if word not in ("signed", "unsigned", "zerofill"))
    if is_unsigned and _FAMILIES.get(bare) not in _ANY_SIGN:
        return f"{bare} unsigned"
    return bare
