"""Schema change messages (`messages.md` §5): CREATE, ALTER, and the TRUNCATE of TiCDC."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tests.property.database import TABLES, Row
from tests.property.dialects import DIALECTS, Dialect
from tests.property.wire import (
    Draft,
    compact,
    field,
    key_document,
    source_block,
    source_schema,
    struct,
)

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
    block = compact(source_block(dialect, table, at_ms, marker, fields))
    rest = compact(_payload(dialect, kind, table, marker, noted=noted))[1:]
    schema, clock = _value_schema(dialect.connector), '"ts_ms":{0}'
    key = _key(dialect)
    if dialect.metadata:
        head = f'{{"schema":{schema},"payload":{{"source":{block},'
        return [Draft(dialect.prefix, key, head, clock, f",{rest}}}", (), partition=0)]
    head, tail = f'{{"payload":{{"source":{block},', f',{rest},"schema":{schema}}}'
    topic = dialect.topic(table)
    return [Draft(topic, key, head, clock, tail, partition=number) for number in range(partitions)]


def _key(dialect: Dialect) -> str:
    name = f"{_SCHEMA}{_family(dialect)}.SchemaChangeKey"
    schema = struct([field("databaseName", "string", False)], name, optional=False, version=1)
    return key_document(dialect, schema, {"databaseName": dialect.db})


def _family(dialect: Dialect) -> str:
    return dialect.connector if dialect.metadata else "mysql"


def _payload(dialect: Dialect, kind: str, table: int, marker: str | None, *, noted: bool) -> Row:
    change = {"type": kind, "id": _quoted(dialect, table), "table": _table(dialect, noted=noted)}
    return {
        "databaseName": dialect.db,
        "schemaName": dialect.schema,
        "ddl": _statement(dialect, kind, table, marker),
        "tableChanges": [] if kind == "TRUNCATE" else [change],
    }


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
    return {
        "defaultCharsetName": None,
        "primaryKeyColumnNames": [dialect.name("id")],
        "columns": [_column(dialect, name, place) for place, name in enumerate(names, 1)],
        "comment": None,
    }


def _column(dialect: Dialect, name: str, place: int) -> Row:
    expression = _kind(dialect, name)
    number = name in ("id", "n")
    return {
        "name": dialect.name(name),
        "jdbcType": (-5 if expression == "bigint" else 4) if number else 12,
        "nativeType": None,
        "typeName": expression.partition("(")[0],
        "typeExpression": expression,
        "charsetName": None,
        "length": None if number else 200,
        "scale": None,
        "position": place,
        "optional": name != "id",
        "autoIncremented": False,
        "generated": False,
        "comment": None,
        "defaultValueExpression": None,
        "enumValues": None,
    }


@cache
def _value_schema(connector: str) -> str:
    array = {"type": "array", "items": _change_schema(), "optional": False}
    fields = [
        source_schema(connector),
        field("ts_ms", "int64", False),
        *(field(name, "string", True) for name in ("databaseName", "schemaName", "ddl")),
        array | {"field": "tableChanges"},
    ]
    name = f"{_SCHEMA}{_family(DIALECTS[connector])}.SchemaChangeValue"
    return compact(struct(fields, name, optional=False, version=1))


def _change_schema() -> Row:
    texts = {"type": "array", "items": {"type": "string", "optional": False}, "optional": True}
    columns = [*(field(*part) for part in _COLUMN), texts | {"field": "enumValues"}]
    column = struct(columns, f"{_SCHEMA}schema.Column", optional=False, version=1)
    fields = [
        field("defaultCharsetName", "string", True),
        texts | {"field": "primaryKeyColumnNames"},
        {"type": "array", "items": column, "optional": False, "field": "columns"},
        field("comment", "string", True),
    ]
    table = struct(fields, f"{_SCHEMA}schema.Table", optional=True, version=1, field="table")
    parts = [field("type", "string", False), field("id", "string", False), table]
    return struct(parts, f"{_SCHEMA}schema.Change", optional=False, version=1)
