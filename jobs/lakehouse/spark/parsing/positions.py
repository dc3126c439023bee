"""Positions: from the fields of a source block to text whose order is the source's order.

In: the source block as text and the connector's position fields. Out: text of fixed width, so that
comparing text compares numbers. `messages.md` §3 gives each tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from lakehouse.connectors import Codec, Connector, PositionField
from lakehouse.spark.sql import literal

SEPARATOR = "."
_QUOTED = '"([0-9]{1,40})"'


def commit_of(position: str, fields: int) -> str:
    """What a position tells of its commit: its first fields."""
    return SEPARATOR.join(position.split(SEPARATOR)[:fields])


def commit_part(fields: int) -> str:
    """The same of the column `position`, as an expression."""
    return f"substring_index(position, {literal(SEPARATOR)}, {fields})"


def with_digits(rows: DataFrame, connector: Connector) -> DataFrame:
    """Rows with the digits of each field of the source block `s` that positions are made from.

    Each is used several times; of those inside of text the text is JSON, read once here.
    """
    digits = (
        _CODECS[field.codec](F.col("s").getField(path)).alias(_name(field, path))
        for field in connector.position
        for path in field.paths
    )
    return rows.select("*", *digits)


def field_text(field: PositionField) -> Column:
    """One position field as text whose order is the order of its numbers, of rows `with_digits`.

    Args:
        field: Which field of the source block, and how it becomes a number.

    Returns:
        NULL where a field is no number or too long, and where one is absent that must be there.
    """
    texts = [F.col("s").getField(path) for path in field.paths]
    found = [fixed_width(F.col(_name(field, path)), field) for path in field.paths]
    if len(found) == 1 and not field.optional:
        return found[0]
    value = found[0] if len(found) == 1 else F.greatest(*found)
    if field.optional:
        value = F.coalesce(value, lowest(field))
    broken = [text.isNotNull() & part.isNull() for text, part in zip(texts, found, strict=True)]
    return F.when(~reduce(Column.__or__, broken), value)


def _name(field: PositionField, path: str) -> str:
    return f"digits_{field.codec}_{path}"


def fixed_width(digits: Column, field: PositionField) -> Column:
    """Digits padded to the field's width; NULL for NULL and for a number that is too long."""
    if field.codec is Codec.HEX_TEXT:
        return digits
    if field.codec is Codec.HEX:
        return F.when(F.length(digits) == field.width, digits)
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
    # Java's `$` would let a line break follow.
    return F.when(text.rlike(r"^[0-9]{1,40}\z"), text)


def _hex(text: Column) -> Column:
    digits = F.lower(F.replace(text, F.lit(":"), F.lit("")))
    return F.when(text.rlike(r"^[0-9A-Fa-f]+(:[0-9A-Fa-f]+)*\z"), digits)


def _numbered_file(text: Column) -> Column:
    return _digits(F.substring_index(text, ".", -1))


def _in_pair(pattern: str) -> Callable[[Column], Column]:
    def digits(text: Column) -> Column:
        return F.nullif(F.regexp_extract(text, pattern, 1), F.lit(""))

    return digits


_CODECS: Mapping[Codec, Callable[[Column], Column]] = {
    Codec.INTEGER: _digits,
    Codec.NUMBERED_FILE: _numbered_file,
    Codec.PAIR_FIRST: _in_pair(rf"^\s*\[\s*{_QUOTED}\s*,[^,]*\]\s*$"),
    Codec.PAIR_SECOND: _in_pair(rf"^\s*\[[^,]*,\s*{_QUOTED}\s*\]\s*$"),
    Codec.HEX: _hex,
    Codec.HEX_TEXT: _hex,
}
