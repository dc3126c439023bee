"""Tables and rows of a sample database, read from the database itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from infra.clients import connection, query
from infra.demo.canonical import MYSQL_KINDS, Canonical, canonical, postgresql_kind
from infra.sources import SAMPLE_SOURCES, Database, Engine
from lakehouse.config import SourceConfig
from lakehouse.names import TableIdentity

Row = Mapping[str, Canonical]

# What is read of a column that its client would give in another form.
_BINLOG_EXPRESSIONS = {"bits": "{} + 0", "geometry": "ST_AsBinary({})"}
_EXPRESSIONS = {
    Engine.POSTGRESQL: {
        **dict.fromkeys(
            ("bits", "interval", "json", "network", "point", "shape", "text", "zoned_time"),
            "{}::text",
        ),
        **dict.fromkeys(("array text", "array json", "array network"), "{}::text[]"),
        "hstore": "hstore_to_json({})::text",
        "money": "{}::numeric",
    },
    Engine.MYSQL: _BINLOG_EXPRESSIONS,
    Engine.MARIADB: _BINLOG_EXPRESSIONS,
}
_SESSION = {
    Engine.POSTGRESQL: "SET intervalstyle = 'iso_8601'",
    Engine.MYSQL: "SET time_zone = '+00:00'",
    Engine.MARIADB: "SET time_zone = '+00:00'",
}
_COLUMNS = """
SELECT c.table_name, c.column_name, c.{type_column}, k.ordinal_position
FROM information_schema.columns AS c
JOIN information_schema.tables AS t
  ON t.table_schema = c.table_schema AND t.table_name = c.table_name
LEFT JOIN information_schema.table_constraints AS p
  ON p.table_schema = c.table_schema AND p.table_name = c.table_name
 AND p.constraint_type = 'PRIMARY KEY'
LEFT JOIN information_schema.key_column_usage AS k
  ON k.constraint_schema = p.constraint_schema AND k.constraint_name = p.constraint_name
 AND k.table_name = c.table_name AND k.column_name = c.column_name
WHERE c.table_schema = %s AND t.table_type = 'BASE TABLE'
ORDER BY c.table_name, c.ordinal_position
"""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table of a source: its columns with their kinds (see `canonical`), and its key."""

    identity: TableIdentity
    columns: Mapping[str, str]
    key: tuple[str, ...]


def source_tables(source: SourceConfig, database: Database) -> tuple[SourceTable, ...]:
    """The tables whose rows become silver, sorted: control tables are none of them."""
    is_postgresql = database.engine is Engine.POSTGRESQL
    schema = SAMPLE_SOURCES[database.database].captured_schema
    kind_of = postgresql_kind if is_postgresql else lambda name: MYSQL_KINDS.get(name, "text")
    sql = _COLUMNS.format(type_column="udt_name" if is_postgresql else "data_type")
    columns: dict[str, dict[str, str]] = {}
    keys: dict[str, list[str]] = {}
    for table, column, type_name, position in query(database, sql, [schema]):
        columns.setdefault(str(table), {})[str(column)] = kind_of(str(type_name))
        if position is not None:
            keys.setdefault(str(table), []).append(str(column))
    found = (
        SourceTable(_identity(database, schema, table), columns[table], tuple(keys.get(table, ())))
        for table in sorted(columns)
    )
    return tuple(table for table in found if not source.is_control_table(table.identity))


def source_rows(database: Database, table: SourceTable) -> list[Row]:
    """All rows of a table, in canonical form."""
    expressions = ", ".join(
        _expression(database, name, kind) for name, kind in table.columns.items()
    )
    parts = (table.identity.schema_name, table.identity.table)
    name = ".".join(_quoted(database, part) for part in parts if part)
    with connection(database) as opened:
        cursor = opened.cursor()
        cursor.execute(_SESSION[database.engine])
        cursor.execute(f"SELECT {expressions} FROM {name}")
        return [_row(values, table.columns) for values in cursor.fetchall()]


def _row(values: object, columns: Mapping[str, str]) -> Row:
    if not isinstance(values, tuple):
        raise TypeError(f"row {values!r}: expected a tuple")
    pairs = zip(columns.items(), values, strict=True)
    return {name: canonical(value, kind) for (name, kind), value in pairs}


def _identity(database: Database, schema: str, table: str) -> TableIdentity:
    if database.engine is Engine.POSTGRESQL:
        return TableIdentity(database.database, schema, table)
    return TableIdentity(schema, None, table)


def _expression(database: Database, column: str, kind: str) -> str:
    return _EXPRESSIONS[database.engine].get(kind, "{}").format(_quoted(database, column))


def _quoted(database: Database, name: str) -> str:
    mark = '"' if database.engine is Engine.POSTGRESQL else "`"
    return mark + name.replace(mark, mark * 2) + mark
