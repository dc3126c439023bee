"""Schema change messages (`messages.md` §5): CREATE, ALTER, and the TRUNCATE of TiCDC."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tests.property.database import TABLES, Row
from tests.property.dialects import DIALECTS, Dialect
from tests.property.wire import Draft, compact, field, source_block, source_schema, struct

_SCHEMA = "io.debezium.connector."
_COLUMN = (
    ("name", "string", False),
    ("jdbcType", "int32", False),
    ("nativeType", "int32", True),
    ("typeName", "string", False),
    ("typeExpression", "string", True),
    ("charsetName", "string", True),
    ("length", "int32", True),
    ("scale", "int32", True),
    ("position", "int32", False),
    ("optional", "boolean", True),
    ("autoIncremented", "boolean", True),
    ("generated", "boolean", True),
    ("comment", "string", True),
    ("defaultValueExpression", "string", True),
)
_INTEGERS = {"db2": "INTEGER", "mariadb": "INT", "mysql": "INT", "oracle": "NUMBER(9,0)"}
_TEXTS = {"oracle": "VARCHAR2(200)", "sqlserver": "nvarchar(200)"}


def schema_change_drafts(
    dialect: Dialect,
    kind: str,
    table: int,
    source: tuple[int, str | None, Mapping[str, object]],
    *,
    noted: bool,
    partitions: int,
) -> list[Draft]:
    """One CREATE, ALTER or TRUNCATE: once in its own topic, or in each partition of TiCDC's."""
    at_ms, marker, fields = source
    db, schema, _ = dialect.identity(table)
    payload: Row = {
        "databaseName": db,
        "schemaName": schema,
        "ddl": _statement(dialect, kind, table, marker),
        "tableChanges": []
        if kind == "TRUNCATE"
        else [{"type": kind, "id": _quoted(dialect, table), "table": _table(dialect, noted=noted)}],
    }
    block = source_block(dialect, table, at_ms, marker, fields)
    family = dialect.connector if dialect.metadata else "mysql"
    name = f"{_SCHEMA}{family}.SchemaChangeKey"
    key_schema = struct([field("databaseName", "string", False)], name, optional=False, version=1)
    key = compact({"schema": key_schema, "payload": {"databaseName": db}})
    if dialect.metadata:
        schema_text, text = _value_schema(dialect.connector), compact(payload)[1:]
        head = f'{{"schema":{schema_text},"payload":{{"source":{compact(block)},'
        tail = f",{text}}}"
        return [Draft(dialect.prefix, key, head, '"ts_ms":{0}', tail, (), partition=0)]
    head = f'{{"payload":{{"source":{compact(block)},'
    tail = f',{compact(payload)[1:]},"schema":{_value_schema(dialect.connector)}}}'
    topic = dialect.topic(table)
    return [
        Draft(topic, key, head, '"ts_ms":{0}', tail, partition=partition)
        for partition in range(partitions)
    ]


def _statement(dialect: Dialect, kind: str, table: int, marker: str | None) -> str | None:
    """SQL text; Db2 and SQL Server send null in the snapshot and N/A after it."""
    if dialect.connector in ("db2", "sqlserver"):
        return None if marker == "true" else "N/A"
    quote = '"' if dialect.connector == "oracle" else "`"
    name = f"{quote}{dialect.name(TABLES[table])}{quote}"
    text = _TEXTS.get(dialect.connector, "VARCHAR(200)")
    if kind == "TRUNCATE":
        return f"TRUNCATE TABLE {name}"
    if kind == "ALTER":
        return f"ALTER TABLE {name} ADD COLUMN {quote}{dialect.name('note')}{quote} {text}"
    columns = ", ".join(
        f"{quote}{dialect.name(column)}{quote} {_kind(dialect, column)}"
        for column in ("id", "v", "n", "big")
    )
    return f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({quote}{dialect.name('id')}{quote}))"


def _kind(dialect: Dialect, column: str) -> str:
    if column in ("id", "n"):
        return (
            "bigint"
            if dialect.key == "int64" and column == "id"
            else _INTEGERS.get(dialect.connector, "int")
        )
    if column == "big" and dialect.large:
        return "CLOB"
    return _TEXTS.get(dialect.connector, "VARCHAR(200)")


def _quoted(dialect: Dialect, table: int) -> str:
    parts = dialect.identity(table)[1 if dialect.connector == "db2" else 0 :]
    return ".".join(f'"{part}"' for part in parts if part)


def _table(dialect: Dialect, *, noted: bool) -> Row:
    names = ("id", "v", "n", "big", "note")[: 5 if noted else 4]
    columns = []
    for position, name in enumerate(names, 1):
        expression = _kind(dialect, name)
        number = name in ("id", "n")
        text_type = {"id": 4, "n": 4}.get(name, 12)
        columns.append(
            {
                "name": dialect.name(name),
                "jdbcType": -5 if expression == "bigint" else text_type,
                "nativeType": None,
                "typeName": expression.partition("(")[0],
                "typeExpression": expression,
                "charsetName": None,
                "length": None if number else 200,
                "scale": None,
                "position": position,
                "optional": name != "id",
                "autoIncremented": False,
                "generated": False,
                "comment": None,
                "defaultValueExpression": None,
                "enumValues": None,
            }
        )
    key = [dialect.name("id")]
    return {
        "defaultCharsetName": None,
        "primaryKeyColumnNames": key,
        "columns": columns,
        "comment": None,
    }


@cache
def _value_schema(connector: str) -> str:
    texts = {"type": "array", "items": {"type": "string", "optional": False}, "optional": True}
    prefix = "io.debezium.connector.schema."
    column = struct(
        [*(field(*part) for part in _COLUMN), texts | {"field": "enumValues"}],
        f"{prefix}Column",
        optional=False,
        version=1,
    )
    table = struct(
        [
            field("defaultCharsetName", "string", True),
            texts | {"field": "primaryKeyColumnNames"},
            {"type": "array", "items": column, "optional": False, "field": "columns"},
            field("comment", "string", True),
        ],
        f"{prefix}Table",
        optional=True,
        version=1,
        field="table",
    )
    change = struct(
        [field("type", "string", False), field("id", "string", False), table],
        f"{prefix}Change",
        optional=False,
        version=1,
    )
    fields = [
        source_schema(connector),
        field("ts_ms", "int64", False),
        *(field(name, "string", True) for name in ("databaseName", "schemaName", "ddl")),
        {"type": "array", "items": change, "optional": False, "field": "tableChanges"},
    ]
    family = connector if DIALECTS[connector].metadata else "mysql"
    name = f"{_SCHEMA}{family}.SchemaChangeValue"
    return compact(struct(fields, name, optional=False, version=1))
