"""The binlog family: MySQL and MariaDB differ in names only.

https://debezium.io/documentation/reference/stable/connectors/mysql.html ("source")
"""

from lakehouse.connectors.base import (
    DATABASE_TABLE,
    Codec,
    Connector,
    InlineReference,
    PositionField,
)
from lakehouse.connectors.sql_text import Backslash, SqlText

# Binlog files are numbered up to 2^31 - 1, positions are unsigned 64-bit, rows 32-bit.
_COMMIT = (PositionField("file", Codec.NUMBERED_FILE, 10), PositionField("pos", Codec.INTEGER, 20))
_ROW = PositionField("row", Codec.INTEGER, 10)
_ZERO_DATE = "zero dates arrive as NULL or as 1970-01-01, those before 1582-10-15 may be shifted"
_LOSSES = {
    "io.debezium.time.Date": _ZERO_DATE,
    "io.debezium.time.Timestamp": _ZERO_DATE,
    "io.debezium.time.MicroTimestamp": _ZERO_DATE,
    "io.debezium.time.ZonedTimestamp": "zero times arrive as the default or as 1970-01-01",
    "io.debezium.time.Year": "the year 0000 arrives as 1900 or 2000",
    "io.debezium.data.Enum": "a comma in a value arrives as '\\,' in changes",
    "float": "source snapshots read it with six digits",
    "io.debezium.data.Json": "source snapshots and changes spell the same document differently",
}

# https://dev.mysql.com/doc/refman/8.4/en/integer-types.html
_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "integer": 32, "bigint": 64}
INTEGERS = {name: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in _BITS.items()} | {
    f"{name} unsigned": (0, 2**bits - 1) for name, bits in _BITS.items()
}


def binlog_connector(
    name: str, *, ordered_rows: bool, inline_references: InlineReference
) -> Connector:
    """A connector that reads a binlog.

    Args:
        name: Its name.
        ordered_rows: Whether (file, pos, row) orders the changes inside a transaction.
        inline_references: What `REFERENCES` behind a column's type means.
    """
    return Connector(
        name=name,
        identity_parts=DATABASE_TABLE,
        collection_parts=("db", "table"),
        position=(*_COMMIT, _ROW) if ordered_rows else _COMMIT,
        commit_fields=len(_COMMIT),
        gtids=True,
        zoned_timestamps=True,
        ddl_dialect="mysql",
        inline_references=inline_references,
        losses=_LOSSES,
        hidden_types={
            "int64": "if it is BIGINT UNSIGNED, numbers above 2^63 - 1 arrive negative: declare "
            "its type",
            "double": "if it is FLOAT with declared digits, it arrives with those of its bytes",
        },
        ranges=INTEGERS,
        sql=SqlText(opening="`", closing="`", backslash=Backslash.HEX, boolean=True),
    )
