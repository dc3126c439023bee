"""Nothing is written to a table by a machine whose clock is behind it.

Java's Iceberg refuses such a commit. PyIceberg makes it, and no Java program can read the table
afterwards: core/…/iceberg/TableMetadata.java, "Invalid update timestamp".
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from pyiceberg.table import Table

from lakehouse.errors import StepFailed

# How far behind a commit may be, as Iceberg says.
_MOST = timedelta(minutes=1)


def check_clock(table: Table) -> None:
    """Refuse to go on where a commit of now would be older than the table's newest one.

    Raises:
        StepFailed: It would, by more than a minute.
    """
    metadata = table.metadata
    newest = max([metadata.last_updated_ms, *(each.timestamp_ms for each in metadata.snapshot_log)])
    behind = timedelta(milliseconds=newest - int(time.time() * 1000))
    if behind > _MOST:
        name, written = ".".join(table.name()), datetime.fromtimestamp(newest / 1000, UTC)
        raise StepFailed(
            f"Table {name!r}: written at {written:%Y-%m-%d %H:%M:%S} UTC, which is {behind} ahead "
            "of this machine's clock: expected a clock that is right within a minute on every "
            "machine that writes; set it (`timedatectl`), then run again: nothing was written. If "
            "this one is right, another was ahead: it cannot be written to before that time"
        )
