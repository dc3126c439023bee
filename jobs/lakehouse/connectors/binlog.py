"""The binlog family: MySQL and MariaDB differ in names only.

https://debezium.io/documentation/reference/stable/connectors/mysql.html ("source")
"""

from lakehouse.connectors.base import Codec, Connector, PositionField

# Binlog files are numbered up to 2^31 - 1, positions are unsigned 64-bit, rows 32-bit.
_POSITION = (
    PositionField("file", Codec.NUMBERED_FILE, 10),
    PositionField("pos", Codec.INTEGER, 20),
    PositionField("row", Codec.INTEGER, 10),
)


def binlog_connector(name: str) -> Connector:
    """A connector that reads a binlog."""
    return Connector(
        name=name, collection_parts=("db", "table"), position=_POSITION, commit_fields=2
    )
