"""Branches and tags of a table: made, moved and dropped.

In: a table and a ref. Out: one commit, which is there whatever an error says (`spark.commits`).
`main` moves by a fast-forward, which Iceberg refuses when `main` is not an ancestor of the branch
(https://iceberg.apache.org/docs/latest/branching/).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from lakehouse.errors import MainMoved
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.catalog import CATALOG
from lakehouse.spark.commits import FAILURES, change, load, make, ref_of
from lakehouse.spark.sql import literal
from lakehouse.spark.tables import full_name


def create_branch(spark: SparkSession, table: str, branch: str, *, at: int | None = None) -> None:
    """Create the branch at the table's current `main` (an empty one on a new table).

    Args:
        spark: The session.
        table: Namespace and name.
        branch: Its name; one that is there stays where a snapshot is given.
        at: The snapshot to create it at instead.
    """
    name = quote_ident(branch)
    where = name if at is None else f"IF NOT EXISTS {name} AS OF VERSION {at}"
    create = f"ALTER TABLE {full_name(table)} CREATE BRANCH {where}"

    def is_made() -> bool:
        found, wanted = _ref(spark, table, branch), at or _ref(spark, table, MAIN)
        return found is not None and wanted in (None, found)

    change(spark, create, is_made)


def drop_branch(spark: SparkSession, table: str, branch: str) -> None:
    """Drop the branch if it is there."""
    drop = f"ALTER TABLE {full_name(table)} DROP BRANCH IF EXISTS {quote_ident(branch)}"
    change(spark, drop, lambda: _ref(spark, table, branch) is None)


def fast_forward(spark: SparkSession, table: str, branch: str) -> None:
    """Move `main` to the head of a branch, or to what a tag names.

    Raises:
        MainMoved: `main` has commits that the branch does not start from.
    """
    arguments = ", ".join(map(literal, (full_name(table), MAIN, branch)))
    call = f"CALL {CATALOG}.system.fast_forward({arguments})"
    with _first_or_moved(table, branch):
        change(spark, call, lambda: _is_at(spark, table, _ref(spark, table, branch)))


def publish_tag(
    spark: SparkSession, table: str, tag: str, snapshot_id: int, over: Iterable[str]
) -> None:
    """Move `main` to what a tag names and drop branches, in one commit.

    Args:
        spark: The session.
        table: Namespace and name.
        tag: Made at the snapshot where it is not there.
        snapshot_id: What the tag names.
        over: Branches that are there.

    Raises:
        MainMoved: `main` has commits that the snapshot does not start from.
    """
    gone = tuple(over)

    def act() -> None:
        loaded = load(spark, full_name(table))
        refs = loaded.manageSnapshots()
        if not loaded.refs().get(tag):
            refs = refs.createTag(tag, snapshot_id)
        refs = refs.fastForwardBranch(MAIN, tag)
        for branch in gone:
            refs = refs.removeBranch(branch)
        refs.commit()

    def is_made() -> bool:
        left = [_ref(spark, table, branch) for branch in gone]
        return _is_at(spark, table, snapshot_id) and not any(left)

    with _first_or_moved(table, tag):
        make(act, is_made)


@contextmanager
def _first_or_moved(table: str, ref: str) -> Iterator[None]:
    try:
        yield
    except FAILURES as failure:
        if is_lost_race(str(failure)):
            raise MainMoved(
                f"Table {table!r}: {ref!r} does not start at the current main: "
                "expected no other commit meanwhile; the step has to be staged again"
            ) from failure
        raise


def create_tag(spark: SparkSession, table: str, tag: str, snapshot_id: int) -> None:
    """Tag a snapshot; a tag that is there already keeps its snapshot."""
    create = f"CREATE TAG IF NOT EXISTS {quote_ident(tag)} AS OF VERSION {snapshot_id}"
    statement = f"ALTER TABLE {full_name(table)} {create}"
    change(spark, statement, lambda: _ref(spark, table, tag) is not None)


def drop_tag(spark: SparkSession, table: str, tag: str) -> None:
    """Drop the tag if it is there; its snapshot stays until it expires."""
    drop = f"ALTER TABLE {full_name(table)} DROP TAG IF EXISTS {quote_ident(tag)}"
    change(spark, drop, lambda: _ref(spark, table, tag) is None)


def is_lost_race(message: str) -> bool:
    """Whether an error says that another commit came first."""
    return "not an ancestor" in message or "CommitFailedException" in message


def _ref(spark: SparkSession, table: str, ref: str) -> int | None:
    return ref_of(spark, full_name(table), ref)


def _is_at(spark: SparkSession, table: str, snapshot_id: int | None) -> bool:
    return snapshot_id is not None and _ref(spark, table, MAIN) == snapshot_id
