"""MySQL: ordered by binlog file number, position and row.

Before 9.0 it ignores `REFERENCES` behind a column's type, and no message tells the version:
https://bugs.mysql.com/bug.php?id=102904
"""

from lakehouse.connectors.base import InlineReference
from lakehouse.connectors.binlog import binlog_connector

MYSQL = binlog_connector("mysql", ordered_rows=True, inline_references=InlineReference.IGNORED)
