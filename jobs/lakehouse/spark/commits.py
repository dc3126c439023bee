"""Commits whose answer may be lost: whether they were made is looked up, never guessed.

In: a change of a table. Out: the change, made once; or an error behind which it is not there.

A JDBC catalog that made a commit and lost the answer reports any error. Iceberg's client may even
ask again, find its own commit in the way, call that a conflict, and remove the files of the
snapshot that the catalog points to by then (`reliability.md` §0.1). So after every error the table
is loaded again. A change that is there is done. A snapshot of ours whose files are gone is taken
out of the table, and the rows are written again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.failpoints import reach
from lakehouse.spark.java import iceberg_class

# How often a change of metadata is tried while others are first, and how often rows are written.
_TRIES = 10
_ROW_TRIES = 3
# In the summary of every snapshot of rows: which commit it is. It is no property of a cut, which
# maintenance copies.
COMMIT_PROPERTY = "lakehouse-commit"
_DELETE = "delete"
_CAME_SECOND = "CommitFailedException"
FAILURES = (PySparkException, Py4JJavaError)
_LOG = structlog.get_logger()


def change(spark: SparkSession, statement: str, is_made: Callable[[], bool]) -> None:
    """Change a table's metadata by a statement.

    Args:
        spark: The session.
        statement: Makes the change in one commit.
        is_made: Whether the table, loaded again, has it.
    """
    make(lambda: spark.sql(statement), is_made)


def make(act: Callable[[], object], is_made: Callable[[], bool]) -> None:
    """Change a table's metadata; Iceberg does not repeat such a change when another is first.

    Args:
        act: Makes the change in one commit to the table as it is loaded then.
        is_made: Whether the table, loaded again, has it.
    """
    reach("before_commit")
    _make(act, is_made)
    reach("after_commit")


def _make(act: Callable[[], object], is_made: Callable[[], bool]) -> None:
    for left in reversed(range(_TRIES)):
        try:
            act()
        except FAILURES as failure:
            if is_made():
                _LOG.warning("answer lost, commit found", error=_short(failure))
                return
            if not left or _CAME_SECOND not in str(failure):
                raise
        else:
            return


def write_rows(
    spark: SparkSession, table: str, branch: str, act: Callable[[Mapping[str, str]], object]
) -> None:
    """Write rows to a branch, in one commit.

    Args:
        spark: The session.
        table: The quoted name for Spark SQL.
        branch: An existing branch, with a snapshot, or one that `act` makes.
        act: Writes the rows; gets properties that the commit's snapshot has to carry.
    """
    reach("before_write")
    _write_rows(spark, table, branch, act)
    reach("after_commit")


def _write_rows(
    spark: SparkSession, table: str, branch: str, act: Callable[[Mapping[str, str]], object]
) -> None:
    for left in reversed(range(_ROW_TRIES)):
        marker = uuid.uuid4().hex
        try:
            act({COMMIT_PROPERTY: marker})
        except FAILURES as failure:
            head = load(spark, table).snapshot(branch)
            if head is None:
                # The commit would have made the branch; who makes a branch and rows at once is not
                # tried again by Iceberg where another commit to the table is first.
                if left and _CAME_SECOND in str(failure):
                    continue
                raise
            if _marker(head) == marker:
                if settle(spark, table, branch):
                    _LOG.warning("answer lost, commit found", table=table, error=_short(failure))
                    return
            elif _marker(head) or head.operation() != _DELETE:
                raise
            # Spark deletes whole files in a commit that carries nothing of ours: was it this one?
            # To delete them again does no harm.
            if not left:
                raise
        else:
            return


def settle(spark: SparkSession, table: str, branch: str) -> bool:
    """Whether the head of a branch can be read; where files of it are gone, it is taken back.

    Args:
        spark: The session.
        table: The quoted name for Spark SQL.
        branch: A branch whose newest commit ended in an error.
    """
    loaded = load(spark, table)
    head = loaded.snapshot(branch)
    if head is None or _is_whole(loaded, head):
        return True
    loaded.manageSnapshots().replaceBranch(branch, head.parentId()).commit()
    forget = load(spark, table).expireSnapshots().expireSnapshotId(head.snapshotId())
    forget.cleanExpiredFiles(False).commit()
    _LOG.warning("snapshot without its files taken back", table=table, snapshot=head.snapshotId())
    return False


def ref_of(spark: SparkSession, table: str, ref: str) -> int | None:
    """The snapshot that a branch or tag names now; None where there is no such ref.

    Args:
        spark: The session.
        table: The quoted name for Spark SQL.
        ref: Its name.
    """
    found = load(spark, table).refs().get(ref)
    return None if found is None else int(found.snapshotId())


def load(spark: SparkSession, table: str) -> Any:  # noqa: ANN401 - a Java object
    """Iceberg's `Table` as the catalog has it now, whatever the session has seen."""
    java = iceberg_class(spark, "spark.Spark3Util")
    return java.loadIcebergTable(spark._jsparkSession, table)  # noqa: SLF001 - no public way to it


def _marker(snapshot: Any) -> str | None:  # noqa: ANN401 - a Java object
    """Which of our commits a snapshot is; None for none that says so."""
    found: str | None = snapshot.summary().get(COMMIT_PROPERTY)
    return found


def _is_whole(loaded: Any, snapshot: Any) -> bool:  # noqa: ANN401 - Java objects
    """Whether the files that a commit wrote are there: its lists of files and its data files."""
    files = loaded.io()
    try:
        paths = [manifest.path() for manifest in snapshot.allManifests(files)]
        paths += [str(each.location()) for each in snapshot.addedDataFiles(files)]
        paths += [str(each.location()) for each in snapshot.addedDeleteFiles(files)]
    except Py4JJavaError as failure:
        if "NotFoundException" in str(failure):
            return False
        raise
    return all(files.newInputFile(path).exists() for path in paths)


def _short(failure: BaseException) -> str:
    return str(failure).partition("\n")[0][:200]
