"""The binlog family: MySQL and MariaDB differ in names only.

https://debezium.io/documentation/reference/stable/connectors/mysql.html ("source")
"""

from lakehouse.connectors.base import DATABASE_TABLE, Codec, Connector, PositionField

# Binlog files are numbered up to 2^31 - 1, positions are unsigned 64-bit, rows 32-bit.
_COMMIT = (PositionField("file", Codec.NUMBERED_FILE, 10), PositionField("pos", Codec.INTEGER, 20))
_ROW = PositionField("row", Codec.INTEGER, 10)


def binlog_connector(name: str, *, ordered_rows: bool) -> Connector:
    """A connector that reads a binlog.

    Args:
        name: Its name.
        ordered_rows: Whether (file, pos, row) orders the changes inside a transaction.
    """
    return Connector(
        name=name,
        identity_parts=DATABASE_TABLE,
        collection_parts=("db", "table"),
        position=(*_COMMIT, _ROW) if ordered_rows else _COMMIT,
        commit_fields=len(_COMMIT),
        gtids=True,
        ddl_dialect="mysql",
    )
