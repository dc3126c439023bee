"""Shapes: the JSON types that the row image of a schema version may have.

In: the columns of a version. Out: SQL that tells whether a row image has them. Decoding alone
cannot: as text, `"12"` is the number 12, and the number 1234 is Base64 for three bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from lakehouse.plan.schemas.declared_types import DECLARED
from lakehouse.plan.schemas.types import Column, Kind
from lakehouse.spark.sql import any_of, literal

_NUMBER = r"BIGINT|DOUBLE|DECIMAL\(\d+,\d+\)"
# Kafka Connect writes what is no JSON number as text.
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
# Arrays and objects in each other; Kafka Connect's types of columns need no more.
_DEPTH = 6
# A name that is none of letters and digits is quoted, and may hold anything.
_PLAIN = r"[^<>`]++|`(?:[^`]++|``)*+`"


def _nested(depth: int) -> str:
    """The types of members, up to the bracket that ends them."""
    return f"(?:{_PLAIN}|<{_nested(depth - 1)}>)*+" if depth else f"(?:{_PLAIN})*+"


_ARRAY, _OBJECT = (f"{name}<{_nested(_DEPTH - 1)}>" for name in ("ARRAY", "OBJECT"))
_ANY = rf"{_NUMBER}|STRING|BOOLEAN|{_ARRAY}|{_OBJECT}"
_OF_KIND: Mapping[Kind, str] = {
    Kind.NARROW: "BIGINT",
    Kind.UNSIGNED: f"{_NUMBER}|STRING",
    Kind.BASE64: "STRING",
    Kind.DECIMAL: "STRING",
    Kind.VARIABLE_DECIMAL: _OBJECT,
    Kind.DAYS: "BIGINT",
    Kind.MILLIS: "BIGINT",
    Kind.MICROS: "BIGINT",
    Kind.ZONED: "STRING",
    Kind.ARRAY: _ARRAY,
    Kind.MAP: _OBJECT,
    Kind.STRUCT: _OBJECT,
}
_OF_TYPE: Mapping[str, str] = {
    "int": "BIGINT",
    "bigint": "BIGINT",
    "float": f"{_NUMBER}|STRING",
    "double": f"{_NUMBER}|STRING",
    "boolean": "BOOLEAN",
    "string": "STRING",
}


def json_types(image: str) -> str:
    """SQL for the JSON types of a row image.

    Args:
        image: `before` or `after`.
    """
    return f"schema_of_variant(try_variant_get(payload, {literal(f'$.{image}')}, 'variant'))"


def fits(columns: Sequence[Column], withheld: Sequence[str] = ()) -> str:
    """Whether `json_types` has these columns' types and no other column.

    Without a schema in the message nothing says what it must have.

    Args:
        columns: The columns of the version.
        withheld: Names of columns that are there and that nothing may see.
    """
    types = {column.name: _types(column) for column in columns} | dict.fromkeys(withheld, _ANY)
    # VARIANT sorts members as Java sorts text.
    ordered = sorted(types, key=lambda name: name.encode("utf-16-be"))
    # Possessive: a regular expression of 2,000 columns must not go back, nor deep.
    members = "".join(f"(?:{_member(name, types[name])}(?:, |(?=>)))?+" for name in ordered)
    return f"NOT has_schema OR json_types RLIKE {literal(f'^OBJECT<{members}>$')}"


def is_mistyped(column: Column, token: str, value: str) -> str:
    """Whether a column has another JSON type than its schema says, or is no finite number.

    Args:
        column: The column.
        token: SQL for its token.
        value: SQL for its value.
    """
    if not is_float(column):
        return f"{token} IS NOT NULL AND NOT ({_has(column, _types(column))})"
    is_text = f"coalesce({_has(column, 'STRING')}, false)"
    not_finite = f"{token} IN ({', '.join(map(literal, _NOT_FINITE))})"
    return (
        f"if({is_text}, NOT ({not_finite}), "
        f"coalesce(abs({value}) = double('Infinity'), false) "
        f"OR {token} IS NOT NULL AND NOT ({_has(column, _types(column))}))"
    )


def is_digits(column: Column) -> str:
    """Whether a JSON number stands where the TOML file's type is sent as Base64.

    The digits of a number may be Base64 of other bytes; a schema in the message would refuse it.
    """
    return f"coalesce({_has(column, _NUMBER)}, false)" if _is_declared_base64(column) else "false"


def may_be_odd(columns: Sequence[Column], value: Callable[[Column], str]) -> str:
    """Whether a floating-point column is infinite, or was sent as text; most events have neither.

    Args:
        columns: The columns.
        value: SQL for a column's value.
    """
    floats = [column for column in columns if is_float(column)]
    if not floats:
        return "false"
    names = "|".join(f"{_name(column.name)}: STRING" for column in floats)
    infinite = any_of(f"abs({value(column)}) = double('Infinity')" for column in floats)
    return f"json_types RLIKE {literal(f'(?:<|, )(?:{names})(?:, |>)')} OR {infinite}"


def needs_types(column: Column) -> bool:
    """Whether a column's JSON type is asked for where no schema in the message tells another."""
    return is_float(column) or _is_declared_base64(column)


def _is_declared_base64(column: Column) -> bool:
    return column.type.kind is Kind.DECIMAL and column.doc.startswith(DECLARED)


def is_float(column: Column) -> bool:
    """Whether a column is a floating-point number and sent as one."""
    return column.type.kind is Kind.CAST and column.type.spark in ("float", "double")


def _has(column: Column, types: str) -> str:
    return f"json_types RLIKE {literal(f'(?:<|, ){_member(column.name, types)}(?:, |>)')}"


def _member(name: str, types: str) -> str:
    return f"{_name(name)}: (?:VOID|{types})"


def _name(name: str) -> str:
    quoted = "`" + name.replace("`", "``") + "`"
    return f"(?:{re.escape(name)}|{re.escape(quoted)})"


def _types(column: Column) -> str:
    if column.doc.startswith(DECLARED) or column.type.kind in (Kind.HASHED, Kind.REDACTED):
        return _ANY
    sent = column.type.sent
    if sent.key is not None:
        return _ARRAY
    return _OF_KIND.get(sent.kind) or _OF_TYPE.get(sent.spark, _ANY)
