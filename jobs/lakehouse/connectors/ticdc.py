"""TiCDC's Debezium protocol: ordered by commit timestamp, then as the topic partition has it.

All changes of a transaction have one commit timestamp. Tables share topics, DDL stands between
the data events, and there is no transaction metadata.
https://docs.pingcap.com/tidb/stable/ticdc-debezium/
"""

from lakehouse.connectors.base import DATABASE_TABLE, Codec, Connector, PositionField
from lakehouse.connectors.binlog import INTEGERS

_ZERO_DATE = "zero dates arrive as NULL or as 1970-01-01"

TICDC = Connector(
    name="ticdc",
    identity_parts=DATABASE_TABLE,
    collection_parts=("db", "table"),
    # An unsigned 64-bit number; as a double, neighbours would be equal.
    position=(PositionField("commit_ts", Codec.INTEGER, 20),),
    commit_fields=1,
    own_topics=False,
    zoned_timestamps=True,
    # With output-raw-change-event = true.
    key_changes_in_place=True,
    schema_changes_in_data=True,
    ddl_dialect="mysql",
    losses={
        "io.debezium.time.Date": _ZERO_DATE,
        "io.debezium.time.Timestamp": _ZERO_DATE,
        "io.debezium.time.MicroTimestamp": _ZERO_DATE,
        "io.debezium.time.Year": "years below 100 arrive as 1970 to 2069",
    },
    hidden_types={
        "double": "if it is a DECIMAL, it is sent as a double: digits behind the 15th are lost",
        "int64": "if it is BIGINT UNSIGNED, numbers above 2^63 - 1 arrive negative: declare its "
        "type",
        "string": "if it is BINARY or BLOB, it holds the Base64 text of its bytes: declare its "
        "type",
    },
    ranges=INTEGERS,
    # https://docs.pingcap.com/tidb/stable/ticdc-debezium/: a changefeed has no signal table.
    signals=False,
)
