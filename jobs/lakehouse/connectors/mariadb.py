"""MariaDB: ordered by binlog file number, position and row."""

from lakehouse.connectors.binlog import binlog_connector

MARIADB = binlog_connector("mariadb")
