"""Snapshots with the names that columns have today.

In: a staged snapshot of a table whose columns were renamed since. Out: one behind it with the same
rows and the table's schema. A snapshot keeps the schema of its commit
(https://iceberg.apache.org/spec/#snapshots), so that readers of the staged one would see the old
names.
"""

from __future__ import annotations

from pyiceberg.catalog import Catalog
from pyiceberg.table.metadata import TableMetadata
from pyspark.sql import SparkSession

from lakehouse.spark import branches, tables
from lakehouse.spark.metadata import CUT_PROPERTY, load_metadata, own_properties


def under_new_names(
    spark: SparkSession, catalog: Catalog, table: str, snapshot: int, cut_id: str
) -> int:
    """A snapshot with a snapshot's rows and the table's names; repeating it is harmless.

    Args:
        spark: The session.
        catalog: PyIceberg's.
        table: Namespace and name.
        snapshot: The one that is staged.
        cut_id: The cut that it is staged for.
    """
    metadata = load_metadata(catalog, table)
    staged = metadata.snapshot_by_id(snapshot) if metadata else None
    if metadata is None or staged is None or staged.schema_id == metadata.current_schema_id:
        return snapshot
    made = _made(metadata, snapshot, cut_id)
    if made is None:
        branch = f"staging_names_{cut_id}"
        branches.create_branch(spark, table, branch, at=snapshot)
        tables.append_nothing(spark, table, branch, own_properties(staged) | {CUT_PROPERTY: cut_id})
        made = _made(load_metadata(catalog, table), snapshot, cut_id)
    return snapshot if made is None else made


def _made(metadata: TableMetadata | None, snapshot: int, cut_id: str) -> int | None:
    """The snapshot that is behind the staged one already; None for none."""
    if metadata is None:
        return None
    behind = (each for each in metadata.snapshots if each.parent_snapshot_id == snapshot)
    mine = (each for each in behind if own_properties(each).get(CUT_PROPERTY) == cut_id)
    today = metadata.current_schema_id
    return next((each.snapshot_id for each in mine if each.schema_id == today), None)
