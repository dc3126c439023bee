"""The newest rows of a control table, at a cost that does not grow with the table's age.

In: a scan. Out: its newest rows. Data files are read from the newest on, by the bounds that their
manifests keep, until no other file can hold a row that is new enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import cast

from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import DataScan, FileScanTask
from pyiceberg.types import TimestamptzType

from lakehouse.plan.records import ControlTable, Record
from lakehouse.spark.control.control_rows import to_records

# So many files are read at once, several of them at a time.
_FILES = 32
_EPOCH = datetime.fromtimestamp(0, UTC)
# A file without bounds may hold anything.
_LATEST = datetime.max.replace(tzinfo=UTC)


def newest_rows(scan: DataScan, table: ControlTable, count: int) -> list[Record]:
    """The newest rows of a scan, at most so many, oldest first."""
    if scan.snapshot() is None:
        return []
    column = scan.projection().find_field(table.time).field_id
    reader = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
    files = sorted(scan.plan_files(), key=lambda task: _limit(task, column), reverse=True)
    found: list[Record] = []
    while files and not (
        len(found) >= count and _time(found[0], table) >= _limit(files[0], column)
    ):
        read = reader.to_table(files[:_FILES]).to_pylist()
        found = newest_of((*found, *to_records(table.row, read)), table, count, None)
        files = files[_FILES:]
    return found


def newest_of(
    rows: Iterable[Record], table: ControlTable, count: int, since: datetime | None
) -> list[Record]:
    """The newest of rows that were read before, at most so many, oldest first.

    Args:
        rows: In any order.
        table: Theirs.
        count: At most so many.
        since: None of before; None for all.
    """
    new = (row for row in rows if since is None or _time(row, table) >= since)
    return sorted(new, key=lambda row: _time(row, table))[-count:]


def _limit(task: FileScanTask, column: int) -> datetime:
    """The newest value of a time column in a data file, as its manifest says."""
    bound = (task.file.upper_bounds or {}).get(column)
    if bound is None:
        return _LATEST
    return _EPOCH + timedelta(microseconds=int(from_bytes(TimestamptzType(), bound)))


def _time(row: Record, table: ControlTable) -> datetime:
    return cast("datetime", getattr(row, table.time))
