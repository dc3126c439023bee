"""Row schemas: the columns of a table's row image, and where their types come from.

In: the schema that a message carries, or what the JSON of schema-less messages proves, and the
types that the TOML file declares. Out: a `RowSchema`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakehouse.connectors import Connector
from lakehouse.plan.schemas.connect_schema import Schema, row_columns, value_type
from lakehouse.plan.schemas.declared_types import declare
from lakehouse.plan.schemas.limits import check_columns, check_limits
from lakehouse.plan.schemas.types import Column, Kind


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


# What stands for the type of a message that declares none.
PROVEN = "json"
# What `schema_of_variant` says → what Kafka Connect would call it. Nothing is known of VOID.
_PROVEN: Mapping[str, str] = {
    "BIGINT": "int64",
    "BOOLEAN": "boolean",
    "DOUBLE": "double",
    "DECIMAL": "double",
}


def read_schema(schema: Schema, connector: Connector, declared: Mapping[str, str]) -> RowSchema:
    """The columns of a schema that messages carry.

    Args:
        schema: The `schema` member of a message's value.
        connector: Its rules for types.
        declared: Column → type of the source, from the TOML file.
    """
    try:
        check_limits(schema)
        columns = row_columns(schema, connector)
        return RowSchema(
            tuple(declare(column, declared, connector, text_is=Kind.CAST) for column in columns)
        )
    except ValueError as error:
        return RowSchema(problem=f"the schema in the messages cannot be read: {error}")


def proven_schema(
    proven: Mapping[str, str],
    connector: Connector,
    declared: Mapping[str, str],
    told: Mapping[str, str],
) -> RowSchema:
    """The columns that schema-less messages prove.

    Args:
        proven: Column → what `schema_of_variant_agg` says of its values.
        connector: Its rules for types.
        declared: Column → type of the source, from the TOML file.
        told: The same from the source's statements; the TOML file comes first.
    """
    kinds = {name: kind.partition("(")[0] for name, kind in proven.items()}
    columns = (
        Column(name, value_type({"type": _PROVEN.get(kind, "string")}), True, wire=PROVEN)
        for name, kind in kinds.items()
        if kind != "VOID" or name in declared or name in told
    )
    try:
        check_columns(len(proven))
        return RowSchema(
            tuple(
                declare(column, declared, connector, text_is=Kind.DECIMAL)
                if column.name in declared
                else _as_told(column, told, connector)
                for column in columns
            )
        )
    except ValueError as error:
        return RowSchema(problem=str(error))


def _as_told(column: Column, told: Mapping[str, str], connector: Connector) -> Column:
    """The column as its source defines it; what its values prove where they are sent otherwise."""
    try:
        return declare(column, told, connector, text_is=Kind.DECIMAL)
    except ValueError:
        return column
