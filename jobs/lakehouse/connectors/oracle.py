"""Oracle: ordered by (SCN of the commit, index in the transaction, XStream's LCR position).

A row change has the SCN of the change in `scn` and that of its commit in `commit_scn`; a truncate
has what an earlier transaction left in `commit_scn`; a read event has `scn` alone. The larger of
the two is the commit's. XStream numbers changes by LCR position, LogMiner by `txSeq`.
https://debezium.io/documentation/reference/stable/connectors/oracle.html ("source")
"""

from lakehouse.connectors.base import SCHEMA_TABLE, Codec, Connector, InlineReference, PositionField
from lakehouse.connectors.sql_text import SqlText

# Decimal text without a bound; 38 digits are more than any SCN of 64 bits has.
_SCN_WIDTH = 38

ORACLE = Connector(
    name="oracle",
    identity_parts=SCHEMA_TABLE,
    collection_parts=("db", "schema", "table"),
    position=(
        PositionField("scn", Codec.INTEGER, _SCN_WIDTH, other="commit_scn"),
        PositionField("txSeq", Codec.INTEGER, 20, optional=True),
        PositionField("lcr_position", Codec.HEX_TEXT, 0, optional=True),
    ),
    commit_fields=1,
    ddl_dialect="oracle",
    # https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/constraint.html
    inline_references=InlineReference.TO_KEY,
    losses={
        "io.debezium.time.ZonedTimestamp": "the offset of its zone is lost, the instant is kept, "
        "and one with digits behind the microsecond is quarantined (declare the type as text)",
    },
    # https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/Database-Object-Names-and-Qualifiers.html
    sql=SqlText(any_name=False),
    database_settings=("database.pdb.name", "database.dbname"),
)
