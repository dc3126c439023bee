"""PostgreSQL: ordered by (last commit LSN, LSN), both in `source.sequence`.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html ("source")
"""

from lakehouse.connectors.base import SCHEMA_TABLE, Codec, Connector, PositionField
from lakehouse.connectors.sql_text import Backslash, SqlText

# An LSN is an unsigned 64-bit number.
_LSN_WIDTH = 20
_NO_NAN = "NaN and infinities arrive as NULL"
_JULIAN = "before 1582-10-15 it arrives shifted in source snapshots"

POSTGRESQL = Connector(
    name="postgresql",
    identity_parts=SCHEMA_TABLE,
    collection_parts=("schema", "table"),
    position=(
        PositionField("sequence", Codec.PAIR_FIRST, _LSN_WIDTH),
        PositionField("sequence", Codec.PAIR_SECOND, _LSN_WIDTH),
    ),
    # Logical messages (pg_logical_emit_message), counted under a name that Java makes up.
    other_collections=r"io\.debezium\..*LogicalDecodingMessageId@[0-9a-f]+",
    commit_fields=1,
    commit_may_be_null=True,
    # BEGIN, events and END of one transaction differ behind the colon (`3824:<lsn>`).
    transaction_separator=":",
    defaults_as_read=True,
    blank_defaults=frozenset(
        {"boolean", "int16", "int32", "int64", "float", "double", "bytes", "string"}
    ),
    untold_defaults=frozenset(
        {
            *("array", "map", "bytes", "io.debezium.time.ZonedTime"),
            "io.debezium.data.VariableScaleDecimal",
            *("io.debezium.data.geometry.Geometry", "io.debezium.data.geometry.Geography"),
            "io.debezium.data.geometry.Point",
        }
    ),
    losses={
        "org.apache.kafka.connect.data.Decimal": _NO_NAN,
        "io.debezium.data.VariableScaleDecimal": _NO_NAN,
        "io.debezium.time.Date": _JULIAN,
        "io.debezium.time.ZonedTime": "the offset from UTC is lost, the time is that of UTC",
        "io.debezium.data.Bits": "zero bytes at the end are cut, and the length is not sent",
        "array": "inner arrays arrive as NULL; NaN, or a NULL in one of enums, makes it all NULL",
    },
    sql=SqlText(backslash=Backslash.DOUBLED, boolean=True),
)
