"""What a process commits, counted; a process ends itself right behind commit N."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import Settings
from lakehouse.plan.records import ControlTable, Record
from lakehouse.spark.ledger import Ledger

# Statements of Spark SQL that commit to the catalog, and are done when they return.
_COMMITTING = ("ALTER ", "CALL ")


class Fuse:
    """Calls `end` once N commits (from 1) are made, from whichever thread."""

    def __init__(self, nth: int, end: Callable[[], object]) -> None:
        self._left, self._end, self._lock = nth, end, threading.Lock()

    def burn(self) -> None:
        """One more commit is made."""
        with self._lock:
            self._left -= 1
            if not self._left:
                self._end()


class FusedLedger(Ledger):
    """Its appends count."""

    def __init__(self, settings: Settings, fuse: Fuse) -> None:
        super().__init__(settings)
        self._fuse = fuse

    def append(self, table: ControlTable, rows: Sequence[Record]) -> None:
        super().append(table, rows)
        self._fuse.burn()


class FusedSession:
    """A Spark session whose committing statements count."""

    def __init__(self, session: SparkSession, fuse: Fuse) -> None:
        self._session, self._fuse = session, fuse

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def sql(self, text: str, *more: object, **named: object) -> DataFrame:
        """As the session does it."""
        found = self._session.sql(text, *more, **named)  # type: ignore[arg-type]
        if text.startswith(_COMMITTING):
            self._fuse.burn()
        return found
