"""MySQL: ordered by binlog file number, position and row."""

from lakehouse.connectors.binlog import binlog_connector

MYSQL = binlog_connector("mysql", ordered_rows=True)
