"""What differs between the connectors' messages, as data (`messages.md` §2, `stack.md` §4)."""

from __future__ import annotations

from dataclasses import dataclass

from tests.property.binlogs import MariaDbLog, MySqlLog, TiDbLog
from tests.property.database import TABLES
from tests.property.logs import Db2Log, Log, OracleLog, PostgresLog, SqlServerLog

SchemaField = tuple[str, str, bool]  # Name, type, optional.

_COMMON: tuple[SchemaField, ...] = (
    ("version", "string", False),
    ("connector", "string", False),
    ("name", "string", False),
    ("ts_ms", "int64", False),
    ("snapshot", "string", True),
    ("db", "string", False),
    ("sequence", "string", True),
)
_MICROS: tuple[SchemaField, ...] = (("ts_us", "int64", True), ("ts_ns", "int64", True))
_NAMES: tuple[SchemaField, ...] = (("schema", "string", False), ("table", "string", False))
_LSNS: tuple[SchemaField, ...] = (("change_lsn", "string", True), ("commit_lsn", "string", True))
_BINLOG: tuple[SchemaField, ...] = (
    ("table", "string", True),
    ("server_id", "int64", False),
    ("gtid", "string", True),
    ("file", "string", False),
    ("pos", "int64", False),
    ("row", "int32", False),
    ("thread", "int64", True),
    ("query", "string", True),
)
_ORACLE: tuple[SchemaField, ...] = (
    ("txId", "string", True),
    ("scn", "string", True),
    ("commit_scn", "string", True),
    ("lcr_position", "string", True),
    ("rs_id", "string", True),
    ("ssn", "int64", True),
    ("redo_thread", "int32", True),
    ("user_name", "string", True),
    ("redo_sql", "string", True),
    ("row_id", "string", True),
    ("commit_ts_ms", "int64", True),
    ("start_scn", "string", True),
    ("start_ts_ms", "int64", True),
    ("txSeq", "int64", True),
)
_POSTGRES: tuple[SchemaField, ...] = (
    ("txId", "int64", True),
    ("lsn", "int64", True),
    ("xmin", "int64", True),
)


@dataclass(frozen=True)
class Dialect:
    """One connector, its settings and its source."""

    connector: str
    prefix: str
    db: str
    schema: str | None
    log: type[Log]
    source: tuple[SchemaField, ...]
    version: str = "3.6.1.Final"
    label: str = ""  # `source.connector`, where it is not the connector's name.
    truncate: str = ""  # In a transaction ("change"), alone ("ddl"), only as DDL ("text").
    large: str = ""  # Large values that stay: left out where they are "long", or always ("lob").
    upper: bool = False  # Names are upper case.
    metadata: bool = True  # It sends transaction metadata, tombstones, headers, source snapshots.
    orders: bool = True  # Positions alone tell the changes of a transaction apart.
    late_end: bool = False  # END comes with the next transaction.
    marker: str | None = "false"  # `source.snapshot` of a streamed event.
    ddl: bool = True  # It has a schema change topic.
    key: str = "int32"

    def name(self, text: str) -> str:
        """A table's or column's name as the source writes it."""
        return text.upper() if self.upper else text

    def identity(self, table: int) -> tuple[str, str | None, str]:
        """Database, schema and table of the source block."""
        return self.db, self.schema, self.name(TABLES[table])

    def topic(self, table: int) -> str:
        """The topic of a table's events."""
        if not self.metadata:
            return "ticdc-test"  # All tables in one topic, as in the captures.
        own = () if self.connector in ("postgresql", "oracle", "db2") else (self.db,)
        schema = () if self.schema is None else (self.schema,)
        return ".".join((self.prefix, *own, *schema, self.name(TABLES[table])))

    def collection(self, table: int) -> str:
        """Its name in the END of a transaction."""
        parts = self.identity(table)
        named = parts[1:] if self.connector in ("db2", "postgresql") else parts
        return ".".join(part for part in named if part)


_RELATIONAL = _COMMON + _MICROS + _NAMES
DIALECTS = {
    dialect.connector: dialect
    for dialect in (
        Dialect(
            "db2",
            "db2a",
            "TESTDB",
            "DB2INST1",
            Db2Log,
            _RELATIONAL + _LSNS,
            upper=True,
            late_end=True,
        ),
        Dialect(
            "mariadb",
            "maria",
            "shop",
            None,
            MariaDbLog,
            _COMMON + _MICROS + _BINLOG,
            truncate="ddl",
            orders=False,
            marker=None,
        ),
        Dialect(
            "mysql",
            "my",
            "shop",
            None,
            MySqlLog,
            _COMMON + _MICROS + _BINLOG,
            truncate="ddl",
            marker=None,
        ),
        Dialect(
            "oracle",
            "ora1",
            "ORCLPDB1",
            "INV",
            OracleLog,
            _RELATIONAL + _ORACLE,
            truncate="ddl",
            large="lob",
            upper=True,
        ),
        Dialect(
            "postgresql",
            "pg",
            "app",
            "public",
            PostgresLog,
            _RELATIONAL + _POSTGRES,
            truncate="change",
            large="long",
            marker=None,
            ddl=False,
        ),
        Dialect(
            "sqlserver",
            "ss1",
            "testDB",
            "dbo",
            SqlServerLog,
            (*_RELATIONAL, *_LSNS, ("event_serial_no", "int64", True)),
            late_end=True,
        ),
        Dialect(
            "ticdc",
            "default",
            "test",
            None,
            TiDbLog,
            _COMMON + _BINLOG,
            version="2.4.0.Final",
            label="TiCDC",
            truncate="text",
            metadata=False,
            orders=False,
            key="int64",
        ),
    )
}
