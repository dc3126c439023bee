"""A silver table made again beside `main`, and `main` replaced by it.

In: a table; later the snapshot that its `main` has, and the one that it gets. Out: a branch without
rows; later `main` at the other snapshot, whatever their histories, in one commit or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from py4j.protocol import Py4JJavaError
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from lakehouse.errors import MainMoved
from lakehouse.failpoints import reach
from lakehouse.plan.tables import MAIN
from lakehouse.spark import metadata
from lakehouse.spark.branches import create_branch, is_lost_race
from lakehouse.spark.commits import load, ref_of
from lakehouse.spark.tables import delete_on_branch, full_name


def replace_main(spark: SparkSession, table: str, expected: int, snapshot_id: int) -> None:
    """Make a snapshot the head of `main` in one commit, if `main` has still the expected head.

    SQL has no such statement: it reads the table's metadata again right before it commits. The
    Java class commits to the metadata that it was made with, and does not try again.

    Raises:
        MainMoved: It has another head, or another commit came first.
    """
    loaded = load(spark, full_name(table))
    change = loaded.manageSnapshots()
    head = loaded.currentSnapshot()
    found = None if head is None else int(head.snapshotId())
    if found != expected:
        raise MainMoved(_other_head(table, expected, found))
    reach("before_commit")
    try:
        change.replaceBranch(MAIN, snapshot_id).commit()
    except Py4JJavaError as failure:
        if ref_of(spark, full_name(table), MAIN) != snapshot_id:
            if is_lost_race(str(failure)):
                raise MainMoved(_other_head(table, expected, None)) from failure
            raise
    reach("after_commit")


def begin_empty(
    spark: SparkSession, catalog: Catalog, table: str, branch: str, summary: Mapping[str, str]
) -> None:
    """Make a branch of a table that has no row, and files of none.

    Args:
        spark: A session of this table's own.
        catalog: PyIceberg's.
        table: Namespace and name.
        branch: Its name.
        summary: Properties that the commit's snapshot carries.
    """
    create_branch(spark, table, branch)
    head = metadata.head(catalog, table, branch)
    if head is not None and head.summary.get("total-records") != "0":
        # All rows at once: no file is read.
        delete_on_branch(spark, table, branch, "true", summary)


def _other_head(table: str, expected: int, found: int | None) -> str:
    return (
        f"Table {table!r}: main is at {found or 'another snapshot'}: expected {expected}, as it "
        "was when the snapshot that replaces it was made; nothing was replaced, run it again"
    )
