"""Bronze from a snapshot on: of the files that were there before, none is looked at.

In: offsets up to which messages are known. Out: the snapshot to read from, and how to read. To plan
a scan takes as long as a table has files, whatever the scan wants; what was appended since a
snapshot stands in lists of its own (https://iceberg.apache.org/docs/latest/spark-queries/, read
incrementally).
"""

from __future__ import annotations

from pyiceberg.table.snapshots import Operation, Snapshot

from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.bronze.table import Bronze, carried_offsets

# Such a scan passes over what wrote files again; it would also pass over what changed rows.
_SAFE = (Operation.APPEND, Operation.REPLACE)


def known_snapshot(bronze: Bronze, known: LandedOffsets) -> int | None:
    """The newest snapshot of `main` that has no message beyond some offsets.

    Args:
        bronze: The source's messages.
        known: The first offsets that are wanted.

    Returns:
        None where there is none, where nothing came behind it, and where something else came than
        messages: all files have to be looked at then.
    """
    for place, snapshot in enumerate(bronze.ancestors(MAIN)):
        offsets = carried_offsets(snapshot)
        if offsets is not None and offsets.are_within(known):
            return snapshot.snapshot_id if place else None
        if not _is_safe(snapshot):
            return None
    return None


def before_branch(bronze: Bronze, branch: str) -> int | None:
    """The newest snapshot of `main` that a branch begins at, with nothing but appends behind it."""
    ids = {snapshot.snapshot_id for snapshot in bronze.ancestors(MAIN)}
    for place, snapshot in enumerate(bronze.ancestors(branch)):
        if snapshot.snapshot_id in ids:
            return snapshot.snapshot_id if place else None
        if not _is_safe(snapshot):
            return None
    return None


def appends(after: int | None, until: int | None = None) -> dict[str, str]:
    """Iceberg's options to read what was appended behind a snapshot; none for all that there is.

    Args:
        after: The snapshot; None for none.
        until: The newest that is read; None for the newest of `main`.
    """
    if after is None:
        return {}
    end = {} if until is None else {"end-snapshot-id": str(until)}
    return {"start-snapshot-id": str(after), **end}


def _is_safe(snapshot: Snapshot) -> bool:
    return snapshot.summary is not None and snapshot.summary.operation in _SAFE
