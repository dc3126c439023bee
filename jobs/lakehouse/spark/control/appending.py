"""Appends to a table through PyIceberg without a copy of its metadata at every look at them.

In: an open table and rows. Out: one commit. `Transaction.table_metadata` copies all snapshots each
time, some twenty times in an append: a third of the CPU that Python takes in a small run.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    ValidationException,
)
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate
from sqlalchemy.exc import DBAPIError

from lakehouse.failpoints import reach
from lakehouse.spark.commits import COMMIT_PROPERTY
from lakehouse.spark.control.clock import check_clock

# A snapshot is forgotten when it is a minute old: another one is rarely due in the same append.
_BEGINNINGS = 5
# PyIceberg tries an append again only while the snapshot is there that it began with.
_CONTESTED = timedelta(minutes=1)
_MOST_OLD_SNAPSHOTS = 10


def append(table: Table, rows: pa.Table) -> None:
    """Append rows in one commit, tried again as often as the table's properties say.

    PyIceberg tries again only while the table has the snapshot that the append began at, which
    another writer may commit on and forget. Nothing is committed then, and the append begins anew.
    After any other error the table is read again: a commit whose answer was lost is there.

    Raises:
        CommitFailedException: Others were first each time.
        ValidationException: Others forgot the snapshot each time.
        StepFailed: This machine's clock is behind the table.
    """
    check_clock(table)
    reach("before_write")
    _append(table, rows)
    reach("after_commit")


def expire(table: Table) -> None:
    """Forget old snapshots: their rows are in the newest one, and each commit copies them all."""
    oldest = datetime.now(UTC) - _CONTESTED
    old = sum(each.timestamp_ms < oldest.timestamp() * 1000 for each in table.snapshots())
    # Forgetting is a commit too, so that it waits until there are many.
    if old < _MOST_OLD_SNAPSHOTS:
        return
    # Another process may be first; and the rows are written, whatever becomes of this.
    with suppress(CommitFailedException, CommitStateUnknownException, DBAPIError):
        table.maintenance.expire_snapshots().older_than(oldest).commit()


def _append(table: Table, rows: pa.Table) -> None:
    for left in reversed(range(_BEGINNINGS)):
        marker = uuid.uuid4().hex
        try:
            with _Append(table) as transaction:
                transaction.append(rows, {COMMIT_PROPERTY: marker})
                reach("after_files")
        except ValidationException:
            if not left:
                raise
            table.refresh()
        except Exception:
            if not _has(table.refresh(), marker):
                raise
            return
        else:
            return


def _has(table: Table, marker: str) -> bool:
    """Whether a commit is there."""
    summaries = (each.summary for each in table.snapshots() if each.summary)
    return any(each.additional_properties.get(COMMIT_PROPERTY) == marker for each in summaries)


class _Append(Transaction):
    """A transaction that works its metadata out again only when they changed."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._seen: tuple[TableMetadata, tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        base, updates = self._table.metadata, self._updates
        if self._seen is None or self._seen[0] is not base or self._seen[1] is not updates:
            self._seen = (base, updates, super().table_metadata)
        return self._seen[2]
