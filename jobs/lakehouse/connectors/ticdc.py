"""TiCDC's Debezium protocol: ordered by commit timestamp, then as the topic partition has it.

All changes of a transaction have one commit timestamp. Tables share topics, DDL stands between
the data events, and there is no transaction metadata.
https://docs.pingcap.com/tidb/stable/ticdc-debezium/
"""

from lakehouse.connectors.base import DATABASE_TABLE, Codec, Connector, PositionField

TICDC = Connector(
    name="ticdc",
    identity_parts=DATABASE_TABLE,
    collection_parts=("db", "table"),
    # An unsigned 64-bit number; as a double, neighbours would be equal.
    position=(PositionField("commit_ts", Codec.INTEGER, 20),),
    commit_fields=1,
    own_topics=False,
    # With output-raw-change-event = true.
    key_changes_in_place=True,
    schema_changes_in_data=True,
    ddl_dialect="mysql",
)
