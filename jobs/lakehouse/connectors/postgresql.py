"""PostgreSQL: ordered by (last commit LSN, LSN), both in `source.sequence`.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html ("source")
"""

from lakehouse.connectors.base import SCHEMA_TABLE, Codec, Connector, PositionField

# An LSN is an unsigned 64-bit number.
_LSN_WIDTH = 20

POSTGRESQL = Connector(
    name="postgresql",
    identity_parts=SCHEMA_TABLE,
    collection_parts=("schema", "table"),
    position=(
        PositionField("sequence", Codec.PAIR_FIRST, _LSN_WIDTH),
        PositionField("sequence", Codec.PAIR_SECOND, _LSN_WIDTH),
    ),
    commit_fields=1,
    commit_may_be_null=True,
    # BEGIN, events and END of one transaction differ behind the colon (`3824:<lsn>`).
    transaction_separator=":",
)
