"""A silver table made again beside `main`, and `main` replaced by it.

In: a table; later the snapshot that its `main` has, and the one that it gets. Out: a branch without
rows; later `main` at the other snapshot, whatever their histories, in one commit or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from py4j.protocol import Py4JJavaError
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from lakehouse.errors import MainMoved
from lakehouse.failpoints import reach
from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.store_faults import is_torn
from lakehouse.spark import metadata
from lakehouse.spark.branches import create_branch, drop_branch, is_lost_race
from lakehouse.spark.commits import FAILURES, load, ref_of
from lakehouse.spark.tables import delete_on_branch, full_name

_MOST_BEGINNINGS = 20


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
    # All rows go at once: no data file is read. Lists of files are, and may be torn, which is why
    # the table is made again; the branch's past does not matter to whoever replaces `main` by it.
    for left, at in _beginnings(catalog, table):
        create_branch(spark, table, branch, at=at)
        head = metadata.head(catalog, table, branch)
        if head is None or head.summary.get("total-records") == "0":
            return
        try:
            delete_on_branch(spark, table, branch, "true", summary)
        except FAILURES as failure:
            if not left or not is_torn(failure):
                raise
            drop_branch(spark, table, branch)
        else:
            return


def _beginnings(catalog: Catalog, table: str) -> Iterator[tuple[int, int | None]]:
    """Where a branch may begin: at `main`, else at older snapshots; and how many are left then."""
    loaded = metadata.load_metadata(catalog, table)
    main = loaded.current_snapshot_id if loaded else None
    ids = [each.snapshot_id for each in reversed(loaded.snapshots)] if loaded else []
    older = [each for each in ids if each != main][:_MOST_BEGINNINGS]
    for place, at in enumerate((None, *older)):
        yield len(older) - place, at


def _other_head(table: str, expected: int, found: int | None) -> str:
    return (
        f"Table {table!r}: main is at {found or 'another snapshot'}: expected {expected}, as it "
        "was when the snapshot that replaces it was made; nothing was replaced, run it again"
    )
