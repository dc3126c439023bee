"""Positions: from the fields of a source block to text whose order is the source's order.

In: columns of text from the source block and the connector's position fields. Out: fixed-width
decimal text, so that comparing text compares numbers. `messages.md` §3 gives each tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyspark.sql.functions as F
from pyspark.sql import Column

from lakehouse.connectors import Codec, PositionField

SEPARATOR = "."


def field_digits(text: Column, field: PositionField) -> Column:
    """One position field as decimal digits; NULL where the field is absent or no number."""
    return _CODECS[field.codec](text)


def fixed_width(digits: Column, field: PositionField) -> Column:
    """Digits padded to the field's width; NULL for NULL and for a number that is too long."""
    return F.when(F.length(digits) <= field.width, F.lpad(digits, field.width, "0"))


def lowest(field: PositionField) -> Column:
    """The text that orders before every other value of the field."""
    return F.lit("0" * field.width)


def join(parts: list[Column]) -> Column:
    """The parts of a position as one text; NULL when a part is NULL."""
    return parts[0] if len(parts) == 1 else F.concat(*_interleave(parts))


def _interleave(parts: list[Column]) -> list[Column]:
    texts: list[Column] = []
    for part in parts:
        texts += [F.lit(SEPARATOR), part] if texts else [part]
    return texts


def _digits(text: Column) -> Column:
    return F.when(text.rlike("^[0-9]{1,40}$"), text)


def _numbered_file(text: Column) -> Column:
    return _digits(F.substring_index(text, ".", -1))


def _pair(index: int) -> Callable[[Column], Column]:
    def number(text: Column) -> Column:
        return _digits(F.from_json(text, "array<string>")[index])

    return number


_CODECS: Mapping[Codec, Callable[[Column], Column]] = {
    Codec.INTEGER: _digits,
    Codec.NUMBERED_FILE: _numbered_file,
    Codec.PAIR_FIRST: _pair(0),
    Codec.PAIR_SECOND: _pair(1),
}
