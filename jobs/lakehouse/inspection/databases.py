"""The source's database: its log, its slot or binlog, its captured tables. Only SELECT and SHOW."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pymysql

from infra.clients import connection, query
from infra.sources import Database
from lakehouse.names import quote_ident
from lakehouse.plan.doctor.binlog import BinlogFacts, has_cascade
from lakehouse.plan.doctor.postgresql import PostgresFacts, PostgresTable, Publication, Slot
from lakehouse.plan.signals.captured import captures

_SLOT = """
SELECT slot_name, active, wal_status,
  coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint
FROM pg_replication_slots WHERE slot_name = %s"""
_PUBLICATION = """
SELECT pubinsert, pubupdate, pubdelete, pubtruncate, puballtables
FROM pg_publication WHERE pubname = %s"""
_PUBLISHED = "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s"
_FILTERED = """
SELECT r.prrelid::regclass::text
FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
WHERE p.pubname = %s AND (r.prqual IS NOT NULL OR r.prattrs IS NOT NULL)"""
_TABLES = """
SELECT n.nspname, c.relname, c.relreplident, c.relpersistence = 'p',
  EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname NOT LIKE 'pg\\_%'
ORDER BY 1, 2"""
_OPERATIONS = ("insert", "update", "delete", "truncate")

# Who may only read sees no constraint in MariaDB, but the index that a primary key is, and the
# statement that makes a table.
_BINLOG_TABLES = """
SELECT t.table_schema, t.table_name,
  EXISTS (SELECT 1 FROM information_schema.statistics i
    WHERE i.table_schema = t.table_schema AND i.table_name = t.table_name
      AND i.index_name = 'PRIMARY')
FROM information_schema.tables t
WHERE t.table_type = 'BASE TABLE'
  AND t.table_schema NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')
ORDER BY 1, 2"""
_VARIABLES = """
SHOW VARIABLES WHERE Variable_name LIKE 'binlog%' OR Variable_name IN ('log_bin', 'gtid_mode')"""


def read_postgresql(database: Database, config: Mapping[str, str]) -> PostgresFacts:
    """The facts of a PostgreSQL database.

    Raises:
        NotReady: It gives no answer.
    """
    slot_name = config.get("slot.name", "debezium")
    name = config.get("publication.name", "dbz_publication")
    slots = query(database, _SLOT, (slot_name,))
    publication = _publication(database, name)
    published = {
        (str(schema), str(table)) for schema, table in query(database, _PUBLISHED, (name,))
    }
    tables = tuple(
        PostgresTable(
            str(schema),
            str(table),
            _text(identity),
            has_key=bool(has_key),
            logged=bool(logged),
            published=publication is None or (str(schema), str(table)) in published,
        )
        for schema, table, identity, logged, has_key in query(database, _TABLES)
        if captures(config, str(schema), str(table))
    )
    return PostgresFacts(
        wal_level=str(query(database, "SHOW wal_level")[0][0]),
        slot_name=slot_name,
        slot=_slot(slots[0]) if slots else None,
        publication_name=name,
        publication=publication,
        tables=tables,
    )


def _slot(row: tuple[object, ...]) -> Slot:
    name, active, status, behind = row
    return Slot(str(name), bool(active), None if status is None else str(status), int(str(behind)))


def _publication(database: Database, name: str) -> Publication | None:
    rows = query(database, _PUBLICATION, (name,))
    if not rows:
        return None
    sent = [operation for operation, is_sent in zip(_OPERATIONS, rows[0], strict=False) if is_sent]
    filtered = tuple(str(row[0]) for row in query(database, _FILTERED, (name,)))
    return Publication(name, frozenset(sent), filtered)


def _text(value: object) -> str:
    """PostgreSQL's type "char" arrives as bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def read_binlog(database: Database, config: Mapping[str, str], read_file: str) -> BinlogFacts:
    """The facts of a MySQL or MariaDB server.

    Args:
        database: Its login.
        config: The connector's configuration: which tables it captures.
        read_file: The binlog file that the connector reads next; empty where nobody says it.

    Raises:
        NotReady: It gives no answer.
    """
    tables = [
        ((_name(schema), _name(table)), bool(has_key))
        for schema, table, has_key in query(database, _BINLOG_TABLES)
        if captures(config, _name(schema), _name(table))
    ]
    variables = {_name(name).lower(): _name(value) for name, value in query(database, _VARIABLES)}
    return BinlogFacts(
        variables=variables,
        files=_files(database),
        read_file=read_file,
        keyless=tuple(".".join(names) for names, has_key in tables if not has_key),
        cascades=_cascading(database, [names for names, _ in tables]),
    )


def _cascading(database: Database, tables: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Those whose rows a foreign key deletes or changes."""
    found = []
    with connection(database) as opened:
        cursor = opened.cursor()
        for names in tables:
            cursor.execute(f"SHOW CREATE TABLE {'.'.join(map(quote_ident, names))}")
            if any(has_cascade(_name(row[1])) for row in cursor.fetchall()):
                found.append(".".join(names))
    return tuple(found)


def _files(database: Database) -> tuple[str, ...]:
    try:
        return tuple(_name(row[0]) for row in query(database, "SHOW BINARY LOGS"))
    except pymysql.MySQLError:
        # The login lacks the right, or the server writes no binlog: its variables say which.
        return ()


def _name(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
