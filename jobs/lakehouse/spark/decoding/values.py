"""Values: what one schema version gives for a column of silver or of the key.

In: how a version is read, and a column's name. Out: SQL over an event's tokens; the same text for
two versions that read the column alike.
"""

from __future__ import annotations

from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import default_token
from lakehouse.plan.schemas.types import Column, Kind
from lakehouse.spark.decoding.decode import decode
from lakehouse.spark.decoding.halves import is_placeholder
from lakehouse.spark.decoding.shapes import is_float
from lakehouse.spark.decoding.versions import Reading
from lakehouse.spark.sql import literal


def image_value(reading: Reading, name: str) -> str:
    """A column of the row image in silver's type; what the version lacks is null or a default."""
    column = reading.columns.get(name.lower())
    default = reading.plan.defaults.get(name.lower())
    if column is not None:
        value = _sent_value(reading, column)
    else:
        value = "NULL" if default is None else decode_default(default)
    return f"CAST({value} AS {reading.plan.columns[name]})"


def _sent_value(reading: Reading, column: Column) -> str:
    token = token_of(reading, column)
    keeps = reading.plan.placeholders and column.type.kind is not Kind.REDACTED
    value = decode(f"if({is_placeholder(token)}, NULL, {token})" if keeps else token, column.type)
    if not is_float(column):
        return value
    exact = f"floats.{_field(reading, column)}"
    return f"if({exact} = 0, {exact}, {value})"


def decode_default(column: Column) -> str:
    """The constant default of a column, typed; that of a masked column is masked already."""
    token = default_token(column)
    text = "CAST(NULL AS string)" if token is None else literal(token)
    if column.type.is_masked:
        return f"CAST({text} AS {column.type.spark})"
    return decode(text, column.type)


def key_value(reading: Reading, name: str) -> str:
    """A column of the key in silver's type."""
    column = reading.columns[name.lower()]
    return (
        f"CAST({decode(_key_token(reading, column), column.type)} AS {reading.plan.columns[name]})"
    )


def is_bad_key(reading: Reading, name: str) -> str:
    """Whether a column of the event key is there and gives no value."""
    token = _key_token(reading, reading.columns[name.lower()])
    return f"{token} IS NOT NULL AND key.{quote_ident(name)} IS NULL"


def _key_token(reading: Reading, column: Column) -> str:
    sent = f"element_at(key_tokens, {literal(column.name)})"
    if not reading.plan.halves:
        return sent
    # The event key of an update that changes the key is the new one.
    of_row = "true" if reading.plan.key_in_row else f"op = {literal(DELETE)}"
    return f"if({of_row}, coalesce({token_of(reading, column)}, {sent}), {sent})"


def token_of(reading: Reading, column: Column) -> str:
    """The token of a version's column."""
    return f"tokens.{_field(reading, column)}"


def _field(reading: Reading, column: Column) -> str:
    return quote_ident(reading.fields[column.name])
