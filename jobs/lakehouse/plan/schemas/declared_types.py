"""Declared types: what the TOML file says of a column, and how its values are read then.

In: a column as it is sent, a type as its source names it. Out: the column with the type that can be
made of both. A declared type resolves what the wire hides: an unsigned number sent as a signed one,
bytes inside text, a decimal without a schema. What the schema of a message says stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from lakehouse.config.source_types import Family, SourceType, parse_source_type
from lakehouse.connectors import Connector
from lakehouse.plan.schemas.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    MICROS,
    MILLIS,
    PRIMITIVES,
    TEXT,
    UNSIGNED_BIGINT,
    ZONED,
    Column,
    Kind,
    ValueType,
    decimal_type,
)

# The doc of a column with a declared type begins so.
DECLARED = "declared as "
# One wrong value makes a schema-less column text; it alone is quarantined, not its table.
_NUMBERS = frozenset({"bigint", "boolean", "double", "float", "int", "string"})
_AS_TEXT = frozenset({"string"})

# What values are sent as where no schema names them, and what silver gets.
_MADE_OF: Mapping[Family, tuple[frozenset[str], ValueType]] = {
    Family.INT: (_NUMBERS, INT),
    Family.LONG: (_NUMBERS, LONG),
    Family.UNSIGNED_LONG: (frozenset({"bigint", "string"}), UNSIGNED_BIGINT),
    Family.FLOAT: (_NUMBERS, FLOAT),
    Family.DOUBLE: (_NUMBERS, DOUBLE),
    Family.BOOLEAN: (_NUMBERS, BOOLEAN),
    Family.BINARY: (frozenset({"binary", "string"}), BINARY),
    Family.TEXT: (_AS_TEXT, TEXT),
    Family.DATE: (_NUMBERS, DATE),
    Family.ZONED: (_AS_TEXT, ZONED),
    Family.TIME: (_NUMBERS, LONG),
    Family.YEAR: (_NUMBERS, INT),
}
_SIZED = frozenset(
    {Family.INT, Family.LONG, Family.UNSIGNED_LONG, Family.FLOAT, Family.DOUBLE, Family.DECIMAL}
)
# A time without a zone is sent in the largest unit that its digits behind the second need.
_BY_DIGITS = ((3, MILLIS), (6, MICROS), (9_999, LONG))
# FLOAT(25) and more are doubles.
_FLOAT_BITS = 24
# Families → the schema's names that say all of a value; sizes and modes decide which one is sent.
_TIMESTAMPS = r"(Micro|Nano|Iso|Zoned)?Timestamp"
_SAID: Mapping[Family, re.Pattern[str]] = {
    family: re.compile(rf"(?:.*\.)?(?:{names})")
    for family, names in {
        # Oracle's DATE has a time of day.
        Family.DATE: rf"(Iso)?Date|{_TIMESTAMPS}",
        Family.DATETIME: _TIMESTAMPS,
        Family.TIMESTAMP: _TIMESTAMPS,
        Family.ZONED: _TIMESTAMPS,
        Family.TIME: "(Micro|Nano|Iso|Zoned)?Time",
        Family.YEAR: "Year",
        Family.BITS: "Bits",
    }.items()
}


def declare(
    column: Column, declared: Mapping[str, str], connector: Connector, *, text_is: Kind
) -> Column:
    """The column with its declared type, if it has one.

    Args:
        column: As it is sent.
        declared: Column → type of the source.
        connector: Its rules for types.
        text_is: How a decimal that is sent as text is read: as digits, or as bytes.

    Raises:
        ValueError: It is declared as what cannot be made of what is sent.
    """
    text = declared.get(column.name)
    if text is None:
        return column
    kind = _declared_type(parse_source_type(text), column, connector, text_is)
    if kind is None:
        raise ValueError(
            f"column {column.name!r} is declared as {text!r}: expected a type that can be made "
            f"from {column.type.spark}; correct columns.{column.name}.type in the TOML file"
        )
    unit = f"; {column.doc}" if column.doc and kind == column.type else ""
    return replace(column, type=kind, doc=f"{DECLARED}{text}{unit}")


def meaning(column: Column) -> str:
    """What beside its type tells what a number stands for: numbers of one meaning differ by size.

    A declared number is the same number in another size; a declared time has its unit from there.
    """
    declared, _, unit = column.doc.removeprefix(DECLARED).partition("; ")
    if not column.doc.startswith(DECLARED) or parse_source_type(declared).family not in _SIZED:
        return column.doc
    return unit


def _declared_type(
    declared: SourceType, column: Column, connector: Connector, text_is: Kind
) -> ValueType | None:
    """What silver gets; None where it cannot be made of what is sent."""
    sent, names = column.type, _SAID.get(declared.family)
    if column.semantic and names is not None:
        return sent if names.fullmatch(column.semantic) else None
    if declared.family is Family.DECIMAL:
        return _declared_decimal(declared, column, text_is)
    if declared.family is Family.FLOAT and column.wire in ("double", "float64"):
        return sent
    sendable, kind = _made_of(declared, connector)
    if sent.spark == kind.spark:
        return sent
    # What is sent can be kept as it is, whatever it stands for.
    plain = PRIMITIVES.get(column.wire, sent) if kind in (TEXT, INT, LONG) else sent
    return kind if {sent.spark, plain.spark} & sendable else None


def _declared_decimal(declared: SourceType, column: Column, text_is: Kind) -> ValueType | None:
    """A decimal whose bytes have a schema has the scale of that; silver's may be larger."""
    sent, wanted = column.type, decimal_type(declared.size or 0, declared.scale)
    if sent.kind is Kind.DECIMAL:
        return replace(wanted, scale=sent.scale) if declared.scale >= sent.scale else None
    if sent.kind is Kind.VARIABLE_DECIMAL:
        return replace(wanted, kind=sent.kind)
    if sent.kind is not Kind.CAST:
        return None
    return replace(wanted, kind=text_is if sent.spark == "string" else sent.kind)


def _made_of(declared: SourceType, connector: Connector) -> tuple[frozenset[str], ValueType]:
    size, family = declared.size or 0, declared.family
    if family is Family.TIMESTAMP:
        family = Family.ZONED if connector.zoned_timestamps else Family.DATETIME
    if family is Family.BITS:
        # One bit is sent as a boolean, others as their bytes.
        family = Family.BOOLEAN if declared.size == 1 else Family.BINARY
    if family is Family.FLOAT and size > _FLOAT_BITS:
        family = Family.DOUBLE
    if family is Family.DATETIME:
        return _NUMBERS, next(kind for digits, kind in _BY_DIGITS if size <= digits)
    return _MADE_OF[family]
