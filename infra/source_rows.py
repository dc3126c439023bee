"""Tables and rows of a database, read from the database itself in one state of it.

In: a login of PostgreSQL, MySQL or MariaDB. Out: a reading, that is a transaction which sees one
state whatever is committed meanwhile, and the end of the log behind it. Rows come one after the
other and are not kept. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
import pymysql
from pymysql.cursors import SSCursor

from infra.clients import Connection, Cursor, connection
from infra.sources import Database, Engine
from lakehouse.errors import ConfigError
from lakehouse.names import TableIdentity
from lakehouse.plan.reconciling.kinds import binlog_kind, postgresql_kind
from lakehouse.plan.reconciling.reached import LogEnd, binlog_end, postgresql_end
from lakehouse.plan.reconciling.tables import SourceTable

# What is read of a column that its client would give in another form, or not at all.
_FINITE = "CASE WHEN {{0}} BETWEEN '{}' AND '{}' THEN {{0}} END"
_BINLOG_EXPRESSIONS = {"bits": "{0} + 0", "geometry": "ST_AsBinary({0})"}
_EXPRESSIONS = {
    Engine.POSTGRESQL: {
        **dict.fromkeys(
            ("bits", "interval", "json", "network", "point", "shape", "text", "zoned_time"),
            "{0}::text",
        ),
        **dict.fromkeys(("array text", "array json", "array network"), "{0}::text[]"),
        "hstore": "hstore_to_json({0})::text",
        "money": "{0}::numeric",
        # 24:00 is none of Python's times.
        "time": "(extract(epoch FROM {0}) * 1000000)::bigint",
        "date": _FINITE.format("0001-01-01", "9999-12-31"),
        "timestamp": _FINITE.format("0001-01-01", "9999-12-31 23:59:59.999999"),
        "instant": _FINITE.format("0001-01-01+00", "9999-12-31 23:59:59.999999+00"),
    },
    Engine.MYSQL: _BINLOG_EXPRESSIONS,
    Engine.MARIADB: _BINLOG_EXPRESSIONS,
}
_BINLOG_SESSION = (
    "SET time_zone = '+00:00'",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
_SESSION = {
    Engine.POSTGRESQL: (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "SET LOCAL intervalstyle = 'iso_8601'",
        "SET LOCAL timezone = 'UTC'",
    ),
    Engine.MYSQL: _BINLOG_SESSION,
    Engine.MARIADB: _BINLOG_SESSION,
}
_LSN = """
SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END
"""
# https://dev.mysql.com/doc/refman/8.4/en/show-binary-log-status.html; the second until 8.3, and of
# MariaDB.
_BINLOG_STATUS = ("SHOW BINARY LOG STATUS", "SHOW MASTER STATUS")
_COLUMNS = """
SELECT c.table_schema, c.table_name, c.column_name, c.{type_column}, k.ordinal_position
FROM information_schema.columns AS c
JOIN information_schema.tables AS t
  ON t.table_schema = c.table_schema AND t.table_name = c.table_name
LEFT JOIN information_schema.table_constraints AS p
  ON p.table_schema = c.table_schema AND p.table_name = c.table_name
 AND p.constraint_type = 'PRIMARY KEY'
LEFT JOIN information_schema.key_column_usage AS k
  ON k.constraint_schema = p.constraint_schema AND k.constraint_name = p.constraint_name
 AND k.table_name = c.table_name AND k.column_name = c.column_name
WHERE c.table_schema IN ({places}) AND t.table_type = 'BASE TABLE'
ORDER BY c.table_schema, c.table_name, c.ordinal_position
"""
_AT_ONCE = 2000


@dataclass(frozen=True, slots=True)
class Reading:
    """One state of a database."""

    database: Database
    opened: Connection

    def log_end(self) -> LogEnd:
        """The end of the log by now: all that is seen was committed before it.

        Raises:
            ConfigError: The database does not tell it.
        """
        cursor = self.opened.cursor()
        if self.database.engine is Engine.POSTGRESQL:
            cursor.execute(_LSN)
            return postgresql_end(str(cursor.fetchall()[0][0]))
        return _binlog_end(self.database, cursor)

    def tables(self, schemas: Collection[str]) -> tuple[SourceTable, ...]:
        """The tables of some schemas, in MySQL and MariaDB of some databases, sorted."""
        is_postgresql = self.database.engine is Engine.POSTGRESQL
        kind_of = postgresql_kind if is_postgresql else binlog_kind
        sql = _COLUMNS.format(
            type_column="udt_name" if is_postgresql else "data_type",
            places=", ".join(["%s"] * len(schemas)),
        )
        columns: dict[tuple[str, str], dict[str, str]] = {}
        keys: dict[tuple[str, str], dict[int, str]] = {}
        cursor = self.opened.cursor()
        cursor.execute(sql, sorted(schemas))
        for schema, table, column, type_name, position in cursor.fetchall():
            name = (str(schema), str(table))
            columns.setdefault(name, {})[str(column)] = kind_of(str(type_name))
            if position is not None:
                keys.setdefault(name, {})[int(str(position))] = str(column)
        return tuple(
            SourceTable(
                _identity(self.database, *name),
                columns[name],
                tuple(column for _, column in sorted(keys.get(name, {}).items())),
            )
            for name in sorted(columns)
        )

    def rows(
        self, table: TableIdentity, columns: Mapping[str, str]
    ) -> Iterator[tuple[object, ...]]:
        """All rows of a table, one after the other.

        Args:
            table: The table.
            columns: Those that are read, with their kinds.
        """
        expressions = ", ".join(
            _expression(self.database, name, kind) for name, kind in columns.items()
        )
        parts = (table.schema_name, table.table)
        if self.database.engine is not Engine.POSTGRESQL:
            parts = (table.database, table.table)
        name = ".".join(_quoted(self.database, part) for part in parts if part)
        yield from _streamed(self.opened, f"SELECT {expressions} FROM {name}")


@contextmanager
def reading(database: Database) -> Iterator[Reading]:
    """A state of a database, held until the end of the `with` block.

    Raises:
        NotReady: It gives no answer.
    """
    with connection(database) as opened:
        cursor = opened.cursor()
        for statement in _SESSION[database.engine]:
            cursor.execute(statement)
        if database.engine is Engine.POSTGRESQL:
            # The state is that of the first query.
            cursor.execute("SELECT 1")
        yield Reading(database, opened)
        opened.rollback()


def _binlog_end(database: Database, cursor: Cursor) -> LogEnd:
    told = "it writes no binlog"
    for statement in _BINLOG_STATUS:
        try:
            cursor.execute(statement)
        except pymysql.MySQLError as refused:
            told = str(refused)
            continue
        if rows := cursor.fetchall():
            return binlog_end(str(rows[0][0]), int(str(rows[0][1])))
    raise ConfigError(
        f"{database!r}: no end of the binlog: {told}: expected a login with the right REPLICATION "
        "CLIENT (in MariaDB BINLOG MONITOR) on a server that writes one"
    )


def _streamed(opened: Connection, sql: str) -> Iterator[tuple[object, ...]]:
    # Other cursors hold the whole result in memory.
    if isinstance(opened, psycopg.Connection):
        with opened.cursor(name="rows") as cursor:
            cursor.itersize = _AT_ONCE
            yield from cursor.execute(sql)
    elif isinstance(opened, pymysql.Connection):
        with opened.cursor(SSCursor) as rows:
            rows.execute(sql)
            yield from rows.fetchall_unbuffered()
    else:
        raise TypeError(f"{opened!r}: expected a connection of psycopg or pymysql")


def _identity(database: Database, schema: str, table: str) -> TableIdentity:
    if database.engine is Engine.POSTGRESQL:
        return TableIdentity(database.database, schema, table)
    return TableIdentity(schema, None, table)


def _expression(database: Database, column: str, kind: str) -> str:
    return _EXPRESSIONS[database.engine].get(kind, "{0}").format(_quoted(database, column))


def _quoted(database: Database, name: str) -> str:
    mark = '"' if database.engine is Engine.POSTGRESQL else "`"
    return mark + name.replace(mark, mark * 2) + mark
