"""Row schemas: the columns of a table's row image, and where their types come from.

In: the schema that a message carries, or what the JSON of schema-less messages proves, and the
types that the TOML file declares. Out: a `RowSchema`. A declared type resolves what the wire hides:
an unsigned number sent as a signed one, bytes inside text, a decimal without a schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lakehouse.connectors import Connector
from lakehouse.plan.types import (
    BINARY,
    DATE,
    TEXT,
    UNSIGNED_BIGINT,
    Column,
    Kind,
    Schema,
    ValueType,
    decimal_type,
    row_columns,
    value_type,
)


@dataclass(frozen=True, slots=True)
class RowSchema:
    """The columns of a row image.

    Attributes:
        problem: Why they cannot be known; empty when they can.
        withheld: Names of columns that a mask drops.
        unused_masks: Columns of the TOML file's masks that the row image has not.
    """

    columns: tuple[Column, ...] = ()
    problem: str = ""
    withheld: tuple[str, ...] = ()
    unused_masks: tuple[str, ...] = ()


# The doc of a column with a declared type begins so.
DECLARED = "declared as "
# What stands for the type of a message that declares none.
PROVEN = "json"
# What `schema_of_variant` says → what Kafka Connect would call it. Nothing is known of VOID.
_PROVEN: Mapping[str, str] = {
    "BIGINT": "int64",
    "BOOLEAN": "boolean",
    "DOUBLE": "double",
    "DECIMAL": "double",
}
_DECIMAL = re.compile(r"(?:decimal|numeric|number|dec) ?\( ?(\d+) ?(?:, ?(\d+) ?)?\)")
_LENGTH = re.compile(r" ?\([0-9, ]+\)")
# One wrong value makes a schema-less column text; it alone is quarantined, not its table.
_NUMBERS = frozenset({"bigint", "boolean", "double", "float", "int", "string"})


def _plain(names: str, spark: str) -> tuple[re.Pattern[str], frozenset[str], ValueType]:
    return re.compile(names), _NUMBERS, ValueType(Kind.CAST, spark)


# A declared type without its length, the types it can be sent as, and what silver gets.
_DECLARED: tuple[tuple[re.Pattern[str], frozenset[str], ValueType], ...] = (
    (re.compile("bigint unsigned"), frozenset({"bigint", "string"}), UNSIGNED_BIGINT),
    (
        re.compile("(var)?binary|(tiny|medium|long)?blob|bytea|raw|image"),
        frozenset({"binary", "string"}),
        BINARY,
    ),
    (
        re.compile("n?(var)?char2?|(tiny|medium|long|n)?text|n?clob|string|json|xml|uuid|enum|set"),
        frozenset({"string"}),
        TEXT,
    ),
    (re.compile("date"), _NUMBERS | {"date"}, DATE),
    _plain("(tiny|small|medium)?int|integer", "int"),
    _plain("bigint|int(eger)? unsigned", "bigint"),
    _plain("float|real", "float"),
    _plain("double( precision)?", "double"),
    _plain("bool(ean)?", "boolean"),
)


def read_schema(schema: Schema, connector: Connector, declared: Mapping[str, str]) -> RowSchema:
    """The columns of a schema that messages carry.

    Args:
        schema: The `schema` member of a message's value.
        connector: Its rules for types.
        declared: Column → type of the source, from the TOML file.
    """
    try:
        columns = row_columns(schema, connector)
        return RowSchema(tuple(_declare(column, declared, text_is=Kind.CAST) for column in columns))
    except ValueError as error:
        return RowSchema(problem=f"the schema in the messages cannot be read: {error}")


def proven_schema(proven: Mapping[str, str], declared: Mapping[str, str]) -> RowSchema:
    """The columns that schema-less messages prove.

    Args:
        proven: Column → what `schema_of_variant_agg` says of its values.
        declared: Column → type of the source, from the TOML file.
    """
    kinds = {name: kind.partition("(")[0] for name, kind in proven.items()}
    columns = (
        Column(name, value_type({"type": _PROVEN.get(kind, "string")}), True, wire=PROVEN)
        for name, kind in kinds.items()
        if kind != "VOID" or name in declared
    )
    try:
        return RowSchema(
            tuple(_declare(column, declared, text_is=Kind.DECIMAL) for column in columns)
        )
    except ValueError as error:
        return RowSchema(problem=str(error))


def _declare(column: Column, declared: Mapping[str, str], *, text_is: Kind) -> Column:
    """The column with its declared type, if it has one.

    Args:
        column: As it is sent.
        declared: Column → type of the source.
        text_is: How a decimal that is sent as text is read: as digits, or as bytes.
    """
    text = declared.get(column.name)
    if text is None:
        return column
    kind = _declared_type(" ".join(text.lower().split()), column.type, text_is)
    if kind is None:
        raise ValueError(
            f"column {column.name!r} is declared as {text!r}: expected a type that can be made "
            f"from {column.type.spark}; correct columns.{column.name}.type in the TOML file"
        )
    return replace(column, type=kind, doc=f"{DECLARED}{text}")


def _declared_type(text: str, sent: ValueType, text_is: Kind) -> ValueType | None:
    if found := _DECIMAL.fullmatch(text):
        wanted = decimal_type(int(found[1]), int(found[2] or 0))
        sent_as = text_is if sent.spark == "string" else sent.kind
        return replace(wanted, kind=sent_as) if sent_as in (Kind.CAST, Kind.DECIMAL) else None
    base = _LENGTH.sub("", text)
    for names, sendable, kind in _DECLARED:
        if names.fullmatch(base) and sent.spark in sendable:
            return kind
    return None
