"""Iceberg's maintenance procedures: they rewrite and remove files, and change no row.

In: a table and what to do. Out: how many files were rewritten or removed
(https://iceberg.apache.org/docs/latest/spark-procedures/).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from pyspark.sql import Row, SparkSession

from lakehouse.failpoints import reach
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.catalog import CATALOG
from lakehouse.plan.upkeep.compacting import Layout
from lakehouse.spark.commits import FAILURES, ref_of, settle
from lakehouse.spark.sql import literal, timestamp
from lakehouse.spark.tables import full_name

# What is expired is named one by one: no age of Iceberg's own adds to it.
_NEVER = datetime.fromtimestamp(0, UTC)


def rewrite_data_files(
    spark: SparkSession, table: str, layout: Layout, *, branch: str = "", where: str = ""
) -> int:
    """Merge small data files, and write files again without the rows that deletes took.

    Args:
        spark: The session.
        table: Namespace and name.
        layout: How.
        branch: The branch to commit to; empty for `main`.
        where: Spark SQL over the table's columns; only files in which it may hold.

    Returns:
        How many files were replaced; none means that there is no commit.
    """
    options = (literal(text) for pair in layout.options.items() for text in pair)
    arguments = [f"options => map({', '.join(options)})"]
    if layout.order:
        order = ", ".join(f"{quote_ident(name)} ASC NULLS FIRST" for name in layout.order)
        arguments += ["strategy => 'sort'", f"sort_order => {literal(order)}"]
    if branch:
        arguments.append(f"branch => {literal(branch)}")
    if where:
        arguments.append(f"where => {literal(where)}")
    found = _rewrite(spark, "rewrite_data_files", table, arguments, branch or MAIN)
    return int(found["rewritten_data_files_count"])


def rewrite_manifests(spark: SparkSession, table: str) -> int:
    """Merge the lists of files; gives how many were replaced."""
    found = _rewrite(spark, "rewrite_manifests", table, (), MAIN)
    return int(found["rewritten_manifests_count"])


def expire_snapshots(spark: SparkSession, table: str, snapshots: Iterable[int]) -> int:
    """Forget these snapshots and remove the files that no other one reads.

    Returns:
        How many files were removed.
    """
    named = ", ".join(f"{number}L" for number in snapshots)
    arguments = [
        f"older_than => {timestamp(_NEVER)}",
        f"snapshot_ids => array({named})",
        "stream_results => true",
    ]
    counts = _call(spark, "expire_snapshots", table, arguments)[0].asDict()
    return sum(int(count) for count in counts.values() if count)


def remove_orphan_files(spark: SparkSession, table: str, older_than: datetime) -> int:
    """Remove the files in a table's folder that no snapshot of it knows.

    Args:
        spark: The session.
        table: Namespace and name of a table that shares its folder with none.
        older_than: Files that were written later stay: some may belong to a commit to come.

    Returns:
        How many files were removed, 20,000 at most.
    """
    arguments = [f"older_than => {timestamp(older_than)}", "stream_results => true"]
    return len(_call(spark, "remove_orphan_files", table, arguments))


def _rewrite(
    spark: SparkSession, procedure: str, table: str, arguments: Iterable[str], branch: str
) -> Row:
    """What the procedure tells; after an error the branch has nothing of it that cannot be read.

    A snapshot from before it that is broken is not its to take back.
    """
    name = full_name(table)
    before = ref_of(spark, name, branch)
    try:
        return _call(spark, procedure, table, arguments)[0]
    except FAILURES:
        if ref_of(spark, name, branch) != before:
            settle(spark, name, branch)
        raise


def _call(spark: SparkSession, procedure: str, table: str, arguments: Iterable[str]) -> list[Row]:
    given = ", ".join([f"table => {literal(full_name(table))}", *arguments])
    reach("before_write")
    told = spark.sql(f"CALL {CATALOG}.system.{procedure}({given})").collect()
    reach("after_commit")
    return told
