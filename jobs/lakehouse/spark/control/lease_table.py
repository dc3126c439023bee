"""The leases as they are stored: properties and tags of the table `quality.leases`.

In: a lease. Out: one commit, or none where another one came first. Taking a lease creates the tag
`<source>_<token>` in the commit that notes it. Two takers of one token cannot both create it:
Iceberg's requirement `assert-ref-snapshot-id` fails for the second
(https://iceberg.apache.org/spec/#table-metadata-and-snapshots), on every catalog.
"""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    RemoveSnapshotRefUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from lakehouse.plan.lease import Lease
from lakehouse.spark.metadata import ensure_namespace
from lakehouse.spark.opening import load_table

LEASES = "quality.leases"
_PROPERTIES = {"write.metadata.previous-versions-max": "10"}


class LeaseTable:
    """The newest lease of one source, in the catalog."""

    def __init__(self, catalog: Catalog, source: str) -> None:
        self._catalog = catalog
        self._source = source
        self._property = f"lease.{source}"

    def current(self) -> Lease | None:
        """The newest lease; None when the source never had one."""
        text = self._load().properties.get(self._property)
        return Lease.from_json(text) if text else None

    def took(self, lease: Lease) -> bool:
        """Note a lease with a new token; False when another one has the token."""
        table, fresh = self._load(), self._ref(lease.token)
        updates: tuple[TableUpdate, ...] = (
            SetSnapshotRefUpdate(**{"ref-name": fresh, "snapshot-id": _head(table), "type": "tag"}),
            self._note(lease),
        )
        old = self._ref(lease.token - 1)
        if old in table.metadata.refs:
            updates += (RemoveSnapshotRefUpdate(**{"ref-name": old}),)
        guard = AssertRefSnapshotId(ref=fresh, **{"snapshot-id": None})
        return self._commit(table, (guard,), updates, lease)

    def wrote(self, lease: Lease) -> bool:
        """Note the newest lease anew; False when its token is not the newest or a commit came."""
        table = self._load()
        guard = AssertRefSnapshotId(ref=self._ref(lease.token), **{"snapshot-id": _head(table)})
        return self._commit(table, (guard,), (self._note(lease),), lease)

    def _note(self, lease: Lease) -> TableUpdate:
        return SetPropertiesUpdate(updates={self._property: lease.to_json()})

    def _commit(
        self,
        table: Table,
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
        lease: Lease,
    ) -> bool:
        try:
            done = self._catalog.commit_table(table, requirements, updates)
        except CommitFailedException:
            return False
        except Exception:
            # The answer may be lost, and the lease taken.
            if self.current() != lease:
                raise
            return True
        _forget_metadata(table, done.metadata)
        return True

    def _ref(self, token: int) -> str:
        return f"{self._source}_{token}"

    def _load(self) -> Table:
        try:
            return load_table(self._catalog, LEASES)
        except NoSuchTableError:
            return _create(self._catalog)


def _forget_metadata(before: Table, after: TableMetadata) -> None:
    """Remove the metadata files that the table no longer names: each heartbeat leaves one.

    PyIceberg does so for commits of its own `Table` alone.
    """
    named = {entry.metadata_file for entry in after.metadata_log}
    for entry in before.metadata.metadata_log:
        if entry.metadata_file not in named:
            # Another process may be first.
            with suppress(OSError):
                before.io.delete(entry.metadata_file)


def _create(catalog: Catalog) -> Table:
    rows = pa.table({"created_by": ["lakehouse"]})
    ensure_namespace(catalog, LEASES.partition(".")[0])
    try:
        table = catalog.create_table(LEASES, schema=rows.schema, properties=_PROPERTIES)
    except TableAlreadyExistsError:
        table = load_table(catalog, LEASES)
    if table.current_snapshot() is None:
        # A ref needs a snapshot to point at.
        table.append(rows)
    return load_table(catalog, LEASES)


def _head(table: Table) -> int:
    snapshot = table.current_snapshot()
    if snapshot is None:
        raise RuntimeError(f"{LEASES} has no snapshot: expected the one of its creation")
    return snapshot.snapshot_id
