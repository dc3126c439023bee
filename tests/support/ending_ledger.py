"""A ledger whose run does not outlive a given write."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lakehouse.config import Settings
from lakehouse.plan.records import ControlTable, Record
from lakehouse.spark.control.ledger import Ledger


class EndingLedger(Ledger):
    """Calls `end` once write N (from 1) to a table is committed."""

    def __init__(self, settings: Settings, table: str, nth: int, end: Callable[[], object]) -> None:
        super().__init__(settings)
        self._table, self._left, self._end = table, nth, end

    def append(self, table: ControlTable, rows: Sequence[Record]) -> None:
        super().append(table, rows)
        if table.name == self._table and rows:
            self._left -= 1
            if not self._left:
                self._end()
