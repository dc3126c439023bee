"""MariaDB: ordered by binlog file number and position, then as the topic partition has them.

Every event of a transaction carries the position of its GTID event, and `row` begins anew with each
statement (seen with MariaDB 10.11 and connector 3.5.0): it says nothing about two statements.

Since 10.5 `REFERENCES` behind a column's type is a foreign key:
https://jira.mariadb.org/browse/MDEV-20729
"""

from lakehouse.connectors.base import InlineReference
from lakehouse.connectors.binlog import binlog_connector

MARIADB = binlog_connector(
    "mariadb", ordered_rows=False, inline_references=InlineReference.TO_NAMESAKE
)
