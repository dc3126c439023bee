"""Broken tables mended in the catalog: commits whose files are gone leave it.

In: `TableFacts`. Out: what was done, in sentences. No file is removed and no row is made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    RemoveSnapshotsUpdate,
    SetSnapshotRefUpdate,
)
from sqlalchemy import update
from sqlalchemy.orm import Session

from lakehouse.config import SourceConfig
from lakehouse.errors import StepFailed
from lakehouse.inspection.tables import read_control_tables, read_tables
from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.doctor.tables import Repair, TableFacts, repair_of
from lakehouse.spark.control.leases import Leases
from lakehouse.spark.control.ledger import Ledger

_PATIENCE_S = 600
# Metadata that can be read again shows what else is missing.
_ROUNDS = 4


def repair(source: SourceConfig, ledger: Ledger, run_id: str) -> tuple[list[str], tuple[str, ...]]:
    """Mend the tables of a source in the catalog, under its lease.

    Returns:
        What was done, and the source tables that are left for a rebuild.

    Raises:
        StepFailed: A table was changed meanwhile.
        Superseded: A run works on the source for longer than is waited.
    """
    # They tell who holds the lease.
    done = list(repair_tables(ledger.catalog, read_control_tables(ledger.catalog)))
    with Leases(ledger.catalog, source.name).upkeep(run_id, _PATIENCE_S) as hold:
        for _ in range(_ROUNDS):
            found = read_tables(source, ledger)
            hold.check()
            mended = list(repair_tables(ledger.catalog, found))
            if not mended:
                break
            done += mended
    return done, to_rebuild(found)


def repair_tables(catalog: Catalog, tables: Iterable[TableFacts]) -> Iterator[str]:
    """Mend what can be mended in the catalog.

    Yields:
        One sentence for each table.

    Raises:
        StepFailed: A table was changed meanwhile.
    """
    for facts in tables:
        match repair_of(facts):
            case Repair.POINT_BACK:
                _point_back(catalog, facts)
                yield f"{facts.name}: the catalog points to {facts.previous} again"
            case Repair.TAKE_BACK:
                _take_back(catalog, facts)
                yield f"{facts.name}: {len(facts.broken)} commits without their files taken back"


def to_rebuild(tables: Iterable[TableFacts]) -> tuple[str, ...]:
    """The source tables that only bronze can bring back, as the TOML file names them."""
    found = {facts.title for facts in tables if repair_of(facts) is Repair.REBUILD}
    return tuple(sorted(found))


def _point_back(catalog: Catalog, facts: TableFacts) -> None:
    if not isinstance(catalog, SqlCatalog):
        raise StepFailed(f"Table {facts.name!r}: expected a catalog in a database to point back")
    namespace, _, name = facts.name.rpartition(".")
    statement = (
        update(IcebergTables)
        .where(
            IcebergTables.catalog_name == catalog.name,
            IcebergTables.table_namespace == namespace,
            IcebergTables.table_name == name,
            IcebergTables.metadata_location == facts.location,
        )
        .values(metadata_location=facts.previous, previous_metadata_location=None)
    )
    with Session(catalog.engine) as session:
        changed = session.execute(statement).rowcount  # type: ignore[attr-defined]
        session.commit()
    if not changed:
        raise StepFailed(
            f"Table {facts.name!r}: the catalog points no more to {facts.location}: expected no "
            "other commit meanwhile; run it again"
        )


def _take_back(catalog: Catalog, facts: TableFacts) -> None:
    table = catalog.load_table(facts.name)
    guard = AssertRefSnapshotId(ref=MAIN, **{"snapshot-id": facts.broken[0]})
    back = SetSnapshotRefUpdate(
        **{"ref-name": MAIN, "type": SnapshotRefType.BRANCH, "snapshot-id": facts.whole}
    )
    named = {ref.snapshot_id for name, ref in table.metadata.refs.items() if name != MAIN}
    gone = [snapshot for snapshot in facts.broken if snapshot not in named]
    forget = RemoveSnapshotsUpdate(**{"snapshot-ids": gone})
    catalog.commit_table(table, (guard,), (back, forget) if gone else (back,))
