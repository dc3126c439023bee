"""The maintenance of one table: compaction, expiry, leftovers.

In: a table, and what stays of it. Out: fewer and larger files, fewer snapshots, the same rows.
What is to be kept is decided in `plan.upkeep.keeping`, from the metadata that is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchNamespaceError
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRefType
from pyspark.sql import SparkSession

from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.records import ControlTable
from lakehouse.plan.upkeep.autocompacting import layout_due
from lakehouse.plan.upkeep.compacting import (
    SILVER,
    Figures,
    Layout,
    control_layout,
    figures_of,
    needs_compaction,
)
from lakehouse.plan.upkeep.keeping import (
    MAINTENANCE,
    Cuts,
    History,
    Snapshot,
    dead_branches,
    expired,
    living_branches,
    missing_tags,
    old_tags,
)
from lakehouse.spark import branches, tables
from lakehouse.spark.control.leases import Upkeep
from lakehouse.spark.metadata import load_metadata, progress_of_main, since_rewritten
from lakehouse.spark.rewriting import procedures
from lakehouse.spark.session import tuned
from lakehouse.spark.sql import literal

# Younger files may belong to a commit to come; no run takes so long.
ORPHAN_AGE = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class Kept:
    """What stays of the tables of one source.

    Attributes:
        cuts: Its cuts.
        work: The token of the newest run that may still publish what it staged.
        undo: How long what a rebuild replaced stays.
        now: The time.
    """

    cuts: Cuts
    work: int
    undo: timedelta
    now: datetime


def table_names(catalog: Catalog, namespace: str) -> list[str]:
    """The tables of a namespace; none where there is no such namespace."""
    try:
        return sorted(".".join(name) for name in catalog.list_tables(namespace))
    except NoSuchNamespaceError:
        return []


def history_of(metadata: TableMetadata) -> History:
    """A table's snapshots and refs, as `plan.upkeep.keeping` judges them."""
    # A log that expiry has cut off lacks those that `main` left before all that it has.
    left = {each.snapshot_id: then.timestamp_ms for each, then in pairwise(metadata.snapshot_log)}
    snapshots = {
        each.snapshot_id: Snapshot(
            each.parent_snapshot_id, _time(left.get(each.snapshot_id, each.timestamp_ms))
        )
        for each in metadata.snapshots
    }
    named: dict[SnapshotRefType, dict[str, int]] = {kind: {} for kind in SnapshotRefType}
    for name, ref in metadata.refs.items():
        named[ref.snapshot_ref_type][name] = ref.snapshot_id
    return History(snapshots, named[SnapshotRefType.BRANCH], named[SnapshotRefType.TAG])


def figures(metadata: TableMetadata) -> Figures:
    """What a table is made of."""
    head = metadata.snapshot_by_name(MAIN)
    summary = head.summary.additional_properties if head and head.summary else {}
    return figures_of(summary, len(metadata.snapshots))


def neighbours(table: str, locations: Mapping[str, str]) -> list[str]:
    """The tables whose files lie in a table's folder, or it in theirs.

    A table that got another name leaves its folder to the next one of its name.
    """
    mine = _folder(locations[table])
    return sorted(
        other
        for other, location in locations.items()
        if other != table
        and (_folder(location).startswith(mine) or mine.startswith(_folder(location)))
    )


def drop_leftovers(spark: SparkSession, catalog: Catalog, table: str, kept: Kept) -> None:
    """Drop the branches of dead runs, and the tags that are no longer kept."""
    history = _history(catalog, table)
    for branch in dead_branches(history, kept.cuts, kept.work, kept.now):
        branches.drop_branch(spark, table, branch)
    for tag in old_tags(history, kept.cuts, kept.undo, kept.now):
        branches.drop_tag(spark, table, tag)


def needed(metadata: TableMetadata) -> Layout | None:
    """How a silver table's files are merged in maintenance; None where that is not needed."""
    return SILVER if needs_compaction(figures(metadata), SILVER) else None


def due(metadata: TableMetadata) -> Layout | None:
    """How a silver table's files are merged between two maintenances; None where it can wait."""
    return layout_due(figures(metadata), since_rewritten(metadata))


def compact_silver(
    spark: SparkSession,
    catalog: Catalog,
    table: str,
    layout_of: Callable[[TableMetadata], Layout | None],
    hold: Upkeep,
) -> str:
    """Merge the files of a table whose `main` belongs to the holder of the lease.

    The files are merged on a branch, and `main` moves to it only if it is where it was. The
    progress of the newest cut travels with the commit.

    Args:
        spark: The session.
        catalog: The catalog.
        table: Namespace and name.
        layout_of: How they are merged, if at all.
        hold: The lease.

    Returns:
        What a person should know; empty for nothing.

    Raises:
        MainMoved: Another program came first.
        Superseded: Another run took the lease.
    """
    metadata = load_metadata(catalog, table)
    layout = layout_of(metadata) if metadata else None
    if metadata is None or layout is None:
        return ""
    if waiting := living_branches(history_of(metadata)):
        return f"not compacted: {waiting[0]} may be published"
    branch = f"{MAINTENANCE}{hold.token}"
    branches.create_branch(spark, table, branch)
    try:
        with tuned(spark, figures(metadata).rows):
            is_rewritten = procedures.rewrite_data_files(spark, table, layout, branch=branch)
        if is_rewritten:
            if progress := progress_of_main(metadata):
                tables.append_nothing(spark, table, branch, progress)
            hold.check()
            branches.fast_forward(spark, table, branch)
    finally:
        branches.drop_branch(spark, table, branch)
    return ""


def compact(spark: SparkSession, catalog: Catalog, table: str, layout: Layout, where: str) -> None:
    """Merge the files of a table to which others append meanwhile; Iceberg tries again then."""
    metadata = load_metadata(catalog, table)
    if metadata is not None and needs_compaction(figures(metadata), layout):
        procedures.rewrite_data_files(spark, table, layout, where=where)


def compact_control(
    spark: SparkSession, catalog: Catalog, control: ControlTable, source: str
) -> None:
    """Merge the files that hold a source's rows of a control table."""
    compact(
        spark, catalog, control.name, control_layout(control.time), f"source = {literal(source)}"
    )


def expire(
    spark: SparkSession, catalog: Catalog, table: str, kept: Kept, anchors: Iterable[int] = ()
) -> int:
    """Tag what kept cuts need, and forget the snapshots that nobody needs.

    Returns:
        How many files were removed.
    """
    history = _history(catalog, table)
    for tag, snapshot in missing_tags(history, kept.cuts).items():
        branches.create_tag(spark, table, tag, snapshot)
    old = expired(history, kept.cuts, anchors, kept.now)
    return procedures.expire_snapshots(spark, table, old) if old else 0


def remove_orphans(spark: SparkSession, table: str) -> int:
    """Remove files that killed writers left, once no commit can need them; gives how many."""
    return procedures.remove_orphan_files(spark, table, datetime.now(UTC) - ORPHAN_AGE)


def _history(catalog: Catalog, table: str) -> History:
    metadata = load_metadata(catalog, table)
    return History({}) if metadata is None else history_of(metadata)


def _folder(location: str) -> str:
    """A location with one spelling: `file:/a`, `file:///a/` and `/a` are the same."""
    scheme, _, path = location.rpartition(":")
    return f"{scheme or 'file'}:/{path.strip('/')}/"


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
