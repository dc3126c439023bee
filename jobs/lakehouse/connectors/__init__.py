"""The connectors. Adding one is one file and one line here."""

from lakehouse.connectors.base import Codec, Connector, InlineReference, PositionField
from lakehouse.connectors.db2 import DB2
from lakehouse.connectors.mariadb import MARIADB
from lakehouse.connectors.mysql import MYSQL
from lakehouse.connectors.oracle import ORACLE
from lakehouse.connectors.postgresql import POSTGRESQL
from lakehouse.connectors.sqlserver import SQLSERVER
from lakehouse.connectors.ticdc import TICDC

CONNECTORS = {
    connector.name: connector
    for connector in (DB2, MARIADB, MYSQL, ORACLE, POSTGRESQL, SQLSERVER, TICDC)
}

__all__ = ["CONNECTORS", "POSTGRESQL", "Codec", "Connector", "InlineReference", "PositionField"]
