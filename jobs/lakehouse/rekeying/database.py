"""What a PostgreSQL database says of a table whose key changes. Only SELECT."""

from __future__ import annotations

from infra.clients import query
from infra.sources import Database
from lakehouse.errors import KeyChangeRefused
from lakehouse.names import TableIdentity
from lakehouse.plan.remaking.rekeying import KeyedTable

_END = "SELECT pg_current_wal_lsn()::text"
_TABLE = """
SELECT
  array(SELECT a.attname::text FROM pg_index i
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
    WHERE i.indrelid = c.oid AND i.indisprimary),
  pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid)
    + pg_stat_get_tuples_deleted(c.oid),
  (SELECT count(*) FROM pg_locks l
    WHERE l.relation = c.oid AND l.mode = 'RowExclusiveLock' AND l.granted),
  coalesce((SELECT pg_wal_lsn_diff(%s::pg_lsn, s.confirmed_flush_lsn)
    FROM pg_replication_slots s WHERE s.slot_name = %s), 1)::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s"""


def log_end(database: Database) -> str:
    """Where the log ends now."""
    return str(query(database, _END)[0][0])


def read_table(database: Database, table: TableIdentity, slot: str, end: str) -> KeyedTable:
    """The facts of a table.

    Args:
        database: Its login.
        table: The table.
        slot: The connector's replication slot.
        end: A place of the log, up to which the connector has to have read.

    Raises:
        NotReady: The database gives no answer.
        KeyChangeRefused: It has no such table.
    """
    rows = query(database, _TABLE, (end, slot, table.schema_name, table.table))
    if not rows:
        raise KeyChangeRefused(f"table {table.full_name!r}: expected one of the database")
    key, writes, writers, unread = rows[0]
    names = key if isinstance(key, list) else []
    return KeyedTable(tuple(map(str, names)), int(str(writes)), int(str(writers)), int(str(unread)))
