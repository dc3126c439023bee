"""Iceberg metadata without a Spark job: heads, refs and ancestry, read with PyIceberg."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError, NoSuchTableError
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot, ancestors_of
from sqlalchemy.exc import IntegrityError

from lakehouse.plan.batches.tables import MAIN
from lakehouse.spark.opening import load_table

# In the summary of every snapshot that apply stages.
CUT_PROPERTY = "lakehouse.cut_id"
# The operation of a snapshot that rewrote files and changed no row
# (https://iceberg.apache.org/spec/#snapshots).
_REWRITE = "replace"
# https://iceberg.apache.org/spec/#version-3-extended-types-and-capabilities
_WITH_VECTORS = 3
# Of the properties of a snapshot, ours; the others count files.
_OURS = "lakehouse."


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """One Iceberg snapshot and the properties that its commit carries."""

    snapshot_id: int
    summary: Mapping[str, str]


def ensure_namespace(catalog: Catalog, name: str) -> None:
    """Create a namespace unless it is there; on a new catalog several runs may do so at once."""
    with suppress(NamespaceAlreadyExistsError, IntegrityError):
        catalog.create_namespace(name)


def load_metadata(catalog: Catalog, table: str) -> TableMetadata | None:
    """The table's current metadata; None when there is no such table."""
    try:
        return load_table(catalog, table).metadata
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
    snapshot = metadata.snapshot_by_name(ref) if metadata else None
    if snapshot is None:
        return None
    summary = snapshot.summary.additional_properties if snapshot.summary else {}
    return SnapshotInfo(snapshot.snapshot_id, summary)


def takes_vectors(catalog: Catalog, table: str) -> bool:
    """Whether rows can be taken out by deletion vectors that know no partitions."""
    metadata = load_metadata(catalog, table)
    if metadata is None or metadata.format_version < _WITH_VECTORS:
        return False
    return all(spec.is_unpartitioned() for spec in metadata.partition_specs)


def row_count(catalog: Catalog, table: str, snapshot: int) -> int | None:
    """How many rows a snapshot has at most; None when the table has no such snapshot."""
    metadata = load_metadata(catalog, table)
    found = metadata.snapshot_by_id(snapshot) if metadata else None
    summary = found.summary.additional_properties if found and found.summary else {}
    total = summary.get("total-records")
    return int(total) if total is not None else None


def missing_of(catalog: Catalog, table: str, snapshots: Iterable[int]) -> tuple[int, ...]:
    """Those of some snapshots that the table has not, or has no more."""
    metadata = load_metadata(catalog, table)
    return tuple(s for s in snapshots if metadata is None or metadata.snapshot_by_id(s) is None)


def is_in_main(catalog: Catalog, table: str, snapshot: int) -> bool:
    """Whether `main` has the snapshot, as its head or in its history."""
    metadata = load_metadata(catalog, table)
    if metadata is None:
        return False
    return snapshot in _ids(ancestors_of(metadata.snapshot_by_name(MAIN), metadata))


def is_only_rewritten(catalog: Catalog, table: str, snapshot: int) -> bool:
    """Whether there is such a table, of which `has_nothing_but` holds."""
    metadata = load_metadata(catalog, table)
    return metadata is not None and has_nothing_but(metadata, snapshot)


def has_nothing_but(metadata: TableMetadata, snapshot: int) -> bool:
    """Whether `main` has nothing that a staged snapshot lacks but rewritten files.

    Compaction moves `main` away from the history of a staged snapshot without changing a row.
    What was before the rewrites is a snapshot of that history or of an earlier cut, even where
    expiry has removed the links between them. A later cut has rows that the staged one lacks.
    """
    staged = metadata.snapshot_by_id(snapshot)
    cut = own_properties(staged).get(CUT_PROPERTY, "") if staged else ""
    history = {snapshot, *_ids(ancestors_of(staged, metadata))}
    for each in ancestors_of(metadata.snapshot_by_name(MAIN), metadata):
        if each.snapshot_id in history:
            return True
        if each.summary is None:
            return False
        if found := each.summary.additional_properties.get(CUT_PROPERTY):
            return not cut or found <= cut
        if each.summary.operation.value != _REWRITE:
            return False
    return True


def own_properties(snapshot: Snapshot) -> dict[str, str]:
    """Those of a snapshot's properties that this project gave it."""
    found = snapshot.summary.additional_properties if snapshot.summary else {}
    return {name: text for name, text in found.items() if name.startswith(_OURS)}


def progress_of_main(metadata: TableMetadata) -> dict[str, str]:
    """The properties of the newest cut of `main`, where nothing but rewrites came behind it."""
    for each in ancestors_of(metadata.snapshot_by_name(MAIN), metadata):
        properties = own_properties(each)
        if CUT_PROPERTY in properties:
            return properties
        if each.summary is None or each.summary.operation.value != _REWRITE:
            return {}
    return {}


def since_rewritten(metadata: TableMetadata) -> Iterator[Mapping[str, str]]:
    """The summaries of the snapshots of `main` behind its last rewrite, newest first."""
    for each in ancestors_of(metadata.snapshot_by_name(MAIN), metadata):
        if each.summary is None or each.summary.operation.value == _REWRITE:
            return
        yield each.summary.additional_properties


def head_with_rows_of(catalog: Catalog, table: str, snapshot: int) -> int | None:
    """The head of `main` if it has the rows of a snapshot: it, or what only rewrote its files."""
    metadata = load_metadata(catalog, table)
    newest = metadata.snapshot_by_name(MAIN) if metadata else None
    if metadata is None or newest is None:
        return None
    for each in ancestors_of(newest, metadata):
        if each.snapshot_id == snapshot:
            return newest.snapshot_id
        if each.summary is None or each.summary.operation.value != _REWRITE:
            return None
    return None


def _ids(history: Iterable[Snapshot]) -> set[int | None]:
    """The snapshots of a history; the one before the oldest is known though it is expired."""
    return {number for each in history for number in (each.snapshot_id, each.parent_snapshot_id)}
