"""Flaws: the columns of a row image whose value was left out or is not what their schema says.

In: how each schema version of a table is read. Out: SQL for arrays of names, over the tokens and
the row image of an event of any version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.schemas.types import Column, Kind
from lakehouse.spark.decoding.halves import is_placeholder, may_be_left_out
from lakehouse.spark.decoding.shapes import is_digits, is_mistyped, may_be_odd
from lakehouse.spark.decoding.values import token_of
from lakehouse.spark.decoding.versions import Reading, by_version, column_by_version
from lakehouse.spark.sql import literal

_NO_NAMES = "CAST(array() AS array<string>)"
_NO_NAME = "NULL"


def has_image(plan: TablePlan) -> str:
    """Whether the row image is needed: of a delete, only where it names the row."""
    return "true" if plan.is_bag else f"op != {literal(DELETE)}"


def unavailable(versions: Sequence[Reading]) -> str:
    """Lower-case names of columns whose unchanged large value was left out."""
    if not versions[0].plan.placeholders:
        return _NO_NAMES
    return _names_where(_unavailable, versions)


def bad_columns(versions: Sequence[Reading]) -> str:
    """Names of columns without a value that their schema allows; most images have none."""
    undecodable = _names_where(_undecodable, versions)
    both = f"array_union({undecodable}, {_names_where(_mistyped, versions)})"
    odd = f"NOT fits OR {by_version([_may_be_odd(reading) for reading in versions])}"
    return f"if(coalesce({odd}, false), {both}, {undecodable})"


def _names_where(of: Callable[[Reading, str], str], versions: Sequence[Reading]) -> str:
    """The names that are found; the row image of a delete event has none."""
    names = dict.fromkeys(name for reading in versions for name in reading.columns)
    found = (column_by_version(of, versions, name) for name in names)
    named = ", ".join(name for name in found if name != _NO_NAME)
    if not named:
        return _NO_NAMES
    return f"if({has_image(versions[0].plan)}, array_compact(array({named})), {_NO_NAMES})"


def _named_if(condition: str, name: str) -> str:
    return f"if({condition}, {literal(name)}, {_NO_NAME})"


def _unavailable(reading: Reading, name: str) -> str:
    column = reading.columns.get(name)
    if column is None or not may_be_left_out(column):
        return _NO_NAME
    return _named_if(is_placeholder(token_of(reading, column)), name)


def _undecodable(reading: Reading, name: str) -> str:
    """The name of a column whose token is there and gives no value."""
    column = reading.columns.get(name)
    if column is None or column.type.kind is Kind.REDACTED:
        return _NO_NAME
    if (column.type.kind, column.type.spark) == (Kind.CAST, "string"):
        return _NO_NAME
    token = token_of(reading, column)
    lacks = f"{token} IS NOT NULL AND ({_value(reading, column)} IS NULL OR {is_digits(column)})"
    if reading.plan.placeholders:
        lacks += f" AND NOT {is_placeholder(token)}"
    return _named_if(lacks, reading.version.stored_name(column.name))


def _mistyped(reading: Reading, name: str) -> str:
    column = reading.columns.get(name)
    if column is None:
        return _NO_NAME
    wrong = is_mistyped(column, token_of(reading, column), _value(reading, column))
    return _named_if(wrong, reading.version.stored_name(column.name))


def _may_be_odd(reading: Reading) -> str:
    odd = may_be_odd(reading.version.columns, lambda column: _value(reading, column))
    return f"({odd})"


def _value(reading: Reading, column: Column) -> str:
    return f"image.{quote_ident(reading.version.stored_name(column.name))}"
