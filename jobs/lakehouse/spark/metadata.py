"""Iceberg metadata without a Spark job: heads, refs and ancestry, read with PyIceberg."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table.metadata import TableMetadata

MAIN = "main"
# In the summary of every snapshot that apply stages.
CUT_PROPERTY = "lakehouse.cut_id"
# The operation of a snapshot that rewrote files and changed no row
# (https://iceberg.apache.org/spec/#snapshots).
_REWRITE = "replace"


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """One Iceberg snapshot and the properties that its commit carries."""

    snapshot_id: int
    summary: Mapping[str, str]


def load_metadata(catalog: Catalog, table: str) -> TableMetadata | None:
    """The table's current metadata; None when there is no such table."""
    try:
        return catalog.load_table(table).metadata
    except NoSuchTableError:
        return None


def refs(catalog: Catalog, table: str) -> dict[str, int]:
    """Branches and tags, with the snapshot id that each names."""
    metadata = load_metadata(catalog, table)
    if metadata is None:
        return {}
    return {name: ref.snapshot_id for name, ref in metadata.refs.items()}


def head(catalog: Catalog, table: str, ref: str = MAIN) -> SnapshotInfo | None:
    """The newest snapshot of a ref; None when there is none."""
    metadata = load_metadata(catalog, table)
    found = metadata.refs.get(ref) if metadata else None
    snapshot = metadata.snapshot_by_id(found.snapshot_id) if metadata and found else None
    if snapshot is None:
        return None
    summary = snapshot.summary.additional_properties if snapshot.summary else {}
    return SnapshotInfo(snapshot.snapshot_id, summary)


def follows(catalog: Catalog, table: str, *, ancestor: int | None, snapshot: int | None) -> bool:
    """Whether the first snapshot is the second, or in its history; None stands for `main`."""
    metadata = load_metadata(catalog, table)
    if metadata is None:
        return False
    main = metadata.refs.get(MAIN)
    head_id = main.snapshot_id if main else None
    wanted = head_id if ancestor is None else ancestor
    at = head_id if snapshot is None else snapshot
    if wanted is None:
        # An empty `main` is before everything.
        return True
    parents = {s.snapshot_id: s.parent_snapshot_id for s in metadata.snapshots}
    while at is not None and at != wanted:
        at = parents.get(at)
    return at == wanted


def is_only_rewritten(catalog: Catalog, table: str, snapshot: int) -> bool:
    """Whether `main` has nothing that a staged snapshot lacks but rewritten files.

    Compaction moves `main` away from the history of a staged snapshot without changing a row.
    What was before the rewrites is a snapshot of that history or of an earlier cut, even where
    expiry has removed the links between them.
    """
    metadata = load_metadata(catalog, table)
    if metadata is None:
        return False
    known = {each.snapshot_id: each for each in metadata.snapshots}
    history: set[int | None] = {snapshot}
    at: int | None = snapshot
    while at is not None and at in known:
        at = known[at].parent_snapshot_id
        history.add(at)
    main = metadata.refs.get(MAIN)
    at = main.snapshot_id if main else None
    while at is not None and at in known and at not in history:
        summary = known[at].summary
        if summary is None or CUT_PROPERTY in summary.additional_properties:
            return summary is not None
        if summary.operation.value != _REWRITE:
            return False
        at = known[at].parent_snapshot_id
    return True
