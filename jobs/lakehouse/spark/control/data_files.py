"""Rows of a table that only grows, each data file read once.

In: a scan. Out: its rows. A step asks its control tables again and again, and between two
questions few files are new; a data file never changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import DataScan, FileScanTask

from lakehouse.plan.records import Record
from lakehouse.spark.control.control_rows import to_records


class DataFiles:
    """The rows of data files that were read before, for one question."""

    def __init__(self, row: type[Record]) -> None:
        self._row = row
        self._snapshot: int | None = None
        self._paths: set[str] = set()
        self._records: list[Record] = []

    @property
    def count(self) -> int:
        """How many data files there were at the last reading."""
        return len(self._paths)

    def rows(self, scan: DataScan) -> list[Record]:
        """All rows of a scan, in no order.

        Args:
            scan: Of the same table, filter and columns each time, except for columns that were
                added to it: older rows lack them.
        """
        snapshot = scan.snapshot()
        if snapshot is None:
            return []
        if snapshot.snapshot_id != self._snapshot:
            self._read(scan, list(scan.plan_files()))
            self._snapshot = snapshot.snapshot_id
        return list(self._records)

    def _read(self, scan: DataScan, tasks: list[FileScanTask]) -> None:
        """Read what is new; everything where a file was rewritten or lost rows."""
        paths = {task.file.file_path for task in tasks}
        grew = self._paths <= paths and not any(task.delete_files for task in tasks)
        known, before = (self._paths, self._records) if grew else (set[str](), [])
        new = (task for task in tasks if task.file.file_path not in known)
        self._records = [*before, *self._load(scan, new)]
        self._paths = paths

    def _load(self, scan: DataScan, tasks: Iterable[FileScanTask]) -> list[Record]:
        # One reader for all of them: it reads several at a time.
        reader = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
        return to_records(self._row, reader.to_table(list(tasks)).to_pylist())
