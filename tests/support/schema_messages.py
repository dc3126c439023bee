"""Schema change messages and row schemas of each connector, for one table that changes.

The shapes are those of `messages.md` §5 and §6 and of the recorded archives; nothing here is the
project's own code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

STATEMENTS = ("mariadb", "mysql", "oracle", "ticdc")
SHAPES = ("db2", "sqlserver")
WITH_ENUMS = ("mariadb", "mysql", "ticdc", "postgresql")
Json = Mapping[str, object]


@dataclass(frozen=True)
class Col:
    """A column: `kind` is one of those of `_WIRE`."""

    name: str
    kind: str
    optional: bool = True
    default: int | str | None = None
    comment: str | None = None
    charset: str | None = "utf8mb4"
    values: tuple[str, ...] = ()

    def but(self, **changes: object) -> Col:
        return replace(self, **changes)


# Kind → the source's type with its length and scale, and Kafka Connect's in a row's schema.
_WIRE: Mapping[str, tuple[str, int | None, int | None, Json]] = {
    "int": ("INT", None, None, {"type": "int32"}),
    "bigint": ("BIGINT", None, None, {"type": "int64"}),
    "text": ("VARCHAR", 40, None, {"type": "string"}),
    "enum": ("ENUM", 1, None, {"type": "string", "name": "io.debezium.data.Enum"}),
}
_OTHER_TYPES: Mapping[str, Mapping[str, tuple[str, int | None, int | None]]] = {
    "db2": {"int": ("INTEGER", 10, 0), "bigint": ("BIGINT", 19, 0)},
    "oracle": {
        "int": ("NUMBER(9,0)", 9, 0),
        "bigint": ("NUMBER(18,0)", 18, 0),
        "text": ("VARCHAR2(40)", 40, None),
    },
    "sqlserver": {
        "int": ("int", 10, 0),
        "bigint": ("bigint", 19, 0),
        "text": ("varchar", 40, None),
    },
}


def identity(connector: str, table: str) -> tuple[str | None, str | None, str]:
    """Database, schema and table, as source blocks name them."""
    if connector in ("mariadb", "mysql", "ticdc"):
        return "shop", None, table
    return "shop", "app", table


def schema_change(
    connector: str,
    kind: str,
    table: str,
    columns: Sequence[Col],
    *,
    ddl: str = "",
    key: Sequence[str] = ("id",),
    was: str = "",
    snapshot: bool = False,
) -> Json:
    """The payload of one message of the schema change topic."""
    silent = None if snapshot else "N/A"
    after = {
        "defaultCharsetName": None,
        "primaryKeyColumnNames": list(key),
        "columns": [_ddl_column(connector, place, c) for place, c in enumerate(columns, 1)],
        "comment": None,
    }
    renamed = f"{_id(connector, was)},{_id(connector, table)}" if was else _id(connector, table)
    change = {
        "type": kind,
        # TiCDC names a renamed table twice.
        "id": renamed if connector == "ticdc" else _id(connector, table),
        "table": after if columns else None,
    }
    database, schema, _ = identity(connector, table)
    return {
        "source": {"db": database, "schema": schema, "table": table},
        "databaseName": database,
        "schemaName": schema,
        "ddl": ddl if connector in STATEMENTS else silent,
        "tableChanges": [change],
    }


def row_schema(connector: str, table: str, columns: Sequence[Col]) -> Json:
    """The schema of the values of a table's data events."""
    fields = [_field(column) for column in columns]
    images = [
        {"type": "struct", "fields": fields, "optional": True, "field": image}
        for image in ("before", "after")
    ]
    name = ".".join(part for part in identity(connector, table) if part)
    return {"type": "struct", "fields": images, "name": f"p.{name}.Envelope", "optional": False}


def _id(connector: str, table: str) -> str:
    names = identity(connector, table)
    if connector == "db2":
        names = names[1:]
    return ".".join(f'"{name}"' for name in names if name)


def _ddl_column(connector: str, place: int, column: Col) -> Json:
    expression, length, scale = _OTHER_TYPES.get(connector, {}).get(
        column.kind, _WIRE[column.kind][:3]
    )
    of_mysql = connector in ("mariadb", "mysql", "ticdc")
    is_text = column.kind in ("text", "enum")
    return {
        "name": column.name,
        "jdbcType": 12,
        "nativeType": None,
        "typeName": expression.partition("(")[0],
        "typeExpression": expression,
        "charsetName": column.charset if of_mysql and is_text else None,
        "length": length,
        "scale": scale,
        "position": place,
        "optional": column.optional,
        "autoIncremented": False,
        "generated": False,
        "comment": column.comment if connector in STATEMENTS else None,
        "defaultValueExpression": None if column.default is None else str(column.default),
        "enumValues": list(column.values) or None,
    }


def _field(column: Col) -> Json:
    wire = dict(_WIRE[column.kind][3])
    if column.values:
        wire["parameters"] = {"allowed": ",".join(column.values)}
    if column.default is not None:
        wire["default"] = column.default
    return {**wire, "optional": column.optional, "field": column.name}


def text_of(document: Json) -> str:
    """The document as JSON."""
    return json.dumps(document)
