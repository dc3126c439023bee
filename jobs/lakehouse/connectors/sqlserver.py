"""SQL Server: ordered by (commit LSN, change LSN, event serial number).

The serial number counts rows, so that an update is 2 where an insert is 1: it only breaks ties.
https://debezium.io/documentation/reference/stable/connectors/sqlserver.html ("source")
"""

from lakehouse.connectors.base import DATABASE_SCHEMA_TABLE, Codec, Connector, PositionField
from lakehouse.connectors.sql_text import SqlText

# 10 bytes, written as groups of 8, 8 and 4 hexadecimal digits.
_LSN_WIDTH = 20

SQLSERVER = Connector(
    name="sqlserver",
    identity_parts=DATABASE_SCHEMA_TABLE,
    collection_parts=("db", "schema", "table"),
    position=(
        PositionField("commit_lsn", Codec.HEX, _LSN_WIDTH),
        PositionField("change_lsn", Codec.HEX, _LSN_WIDTH, optional=True),
        PositionField("event_serial_no", Codec.INTEGER, 20, optional=True),
    ),
    commit_fields=1,
    ends_late=True,
    defaults_as_read=True,
    # `bit`: all but ((1)).
    blank_defaults=frozenset({"boolean"}),
    nullable_stays_null=True,
    # datetimeoffset has 7 digits behind the point.
    zoned_as_text=True,
    # https://learn.microsoft.com/sql/t-sql/data-types/int-bigint-smallint-and-tinyint-transact-sql
    ranges={"tinyint": (0, 255), "smallint": (-(2**15), 2**15 - 1)},
    sql=SqlText(
        opening="[",
        closing="]",
        text="N'{}'",
        date="CAST('{}' AS date)",
        timestamp="CAST('{}' AS datetime2)",
    ),
)
