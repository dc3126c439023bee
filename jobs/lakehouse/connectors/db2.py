"""Db2: ordered by (commit LSN, change LSN), which read events lack.

https://debezium.io/documentation/reference/stable/connectors/db2.html ("source")
"""

from lakehouse.connectors.base import SCHEMA_TABLE, Codec, Connector, PositionField

# 16 bytes, written as groups of 8, 8 and 16 hexadecimal digits.
_LSN_WIDTH = 32

DB2 = Connector(
    name="db2",
    identity_parts=SCHEMA_TABLE,
    collection_parts=("schema", "table"),
    position=(
        PositionField("commit_lsn", Codec.HEX, _LSN_WIDTH),
        PositionField("change_lsn", Codec.HEX, _LSN_WIDTH, optional=True),
    ),
    commit_fields=1,
    ends_late=True,
    defaults_as_read=True,
    # CURRENT DATE and the like are no default of a column that may be NULL.
    untold_defaults=frozenset(
        {
            "bytes",
            *("io.debezium.time.Date", "io.debezium.time.Time", "io.debezium.time.MicroTime"),
            *("io.debezium.time.Timestamp", "io.debezium.time.MicroTimestamp"),
            "io.debezium.time.NanoTimestamp",
        }
    ),
)
