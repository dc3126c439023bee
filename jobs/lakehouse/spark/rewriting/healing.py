"""Rows of a table that were made again, put in the place of those of `main` that differ.

In: a branch that has nothing but rows made again, and which rows these are. Out: what differs;
where a row does, a staging branch that begins at `main` and has the rows as they were made. Rows
that were not made again stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyspark.sql.functions as F
from pyiceberg.catalog import Catalog
from pyspark.sql import DataFrame, SparkSession

from lakehouse.plan.batches.tables import MAIN, TablePlan
from lakehouse.plan.remaking.differences import Difference
from lakehouse.spark import branches, metadata, tables
from lakehouse.spark.once import once
from lakehouse.spark.rewriting.comparing import contrast, row_hash
from lakehouse.spark.rewriting.removed import Removed
from lakehouse.spark.rows import key_text
from lakehouse.spark.sql import literal
from lakehouse.spark.staging import silver
from lakehouse.spark.staging.writing import ROWS_PER_FILE

# A column that no source has.
_NAME = "lakehouse: name of the row"
_MARKS = f"kind IN ({literal(silver.DELETE_MARK)}, {literal(silver.HELD)})"
# Barriers have no key.
_MARK_NAME = "coalesce(key, concat(kind, position))"


@dataclass(frozen=True, slots=True)
class Healing:
    """What the functions of one table share.

    Attributes:
        spark: A session of this table's own.
        catalog: PyIceberg's.
        plan: The table.
        made: The branch with the rows that were made again.
        branch: The staging branch.
        touched: The global view of the `row_key` of these rows; empty for all rows.
        summary: Properties of the commits.
        check: Refuses to go on once another run took the lease.
    """

    spark: SparkSession
    catalog: Catalog
    plan: TablePlan
    made: str
    branch: str
    touched: str
    summary: Mapping[str, str]
    check: Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Side:
    """One Iceberg table of the plan; `name` is SQL for what names a row, None for its hash."""

    table: str
    name: str | None
    where: str = "true"


def heal(work: Healing) -> dict[str, Difference]:
    """Stage what differs.

    Returns:
        Iceberg table → how the rows that were made differ from those of `main`.
    """
    removed, sides = _removed(work), list(_sides(work))
    found = {side.table: _heal(work, side, removed) for side in sides}
    if any(each.count for each in found.values()):
        # All of a table's own are in one cut, and can be put back together.
        for side in (each for each in sides if not found[each.table].count):
            _begin(work, side)
            tables.append_nothing(work.spark, side.table, work.branch, work.summary)
    return found


def held_keys(spark: SparkSession, state: str, branch: str) -> int:
    """How many keys of a table wait for a quarantined event."""
    marks = tables.at_ref(spark, state, branch).where(f"kind = {literal(silver.HELD)}")
    return marks.select("key").distinct().count()


def _sides(work: Healing) -> Iterator[_Side]:
    plan = work.plan
    name = None if plan.is_bag else key_text(plan)
    yield _Side(plan.silver, name)
    yield _Side(plan.state, "key", _MARKS) if work.touched else _Side(plan.state, _MARK_NAME)
    if plan.history:
        yield _Side(plan.history_table, name)


def _heal(work: Healing, side: _Side, removed: DataFrame | None) -> Difference:
    there = tables.at_ref(work.spark, side.table, MAIN)
    before = _chosen(work, side, there, removed)
    after = _chosen(work, side, _made(work, side, there), removed)
    difference, differing = contrast(side.table, before, after, side.name)
    if difference.count:
        _replace(work, side, after, differing)
    return difference


def _made(work: Healing, side: _Side, like: DataFrame) -> DataFrame:
    """The rows that were made; a table of which none was has no such branch."""
    if work.made in metadata.refs(work.catalog, side.table):
        return tables.at_ref(work.spark, side.table, work.made)
    return like.limit(0)


def _chosen(work: Healing, side: _Side, rows: DataFrame, removed: DataFrame | None) -> DataFrame:
    """The rows of a side that are compared."""
    rows = rows.where(side.where)
    if work.touched and side.name:
        keys = work.spark.table(f"global_temp.{work.touched}").where("row_key IS NOT NULL")
        rows = _joined(rows, side.name, keys, "left_semi")
    if removed is not None and side.name:
        rows = _joined(rows, side.name, removed, "left_anti")
    return rows


def _removed(work: Healing) -> DataFrame | None:
    """Keys that a repair took out: the source has not the row, whatever it had sent before."""
    plan = work.plan
    if plan.is_bag:
        return None
    removed = Removed(work.spark, plan.silver, plan.key, work.made)
    keys = removed.marks().select("key")
    return once(keys.unionByName(removed.marked()) if plan.soft else keys, eager=True)


def _replace(work: Healing, side: _Side, after: DataFrame, differing: DataFrame) -> None:
    """Of each name that differs, the rows that were made in the place of those that are there."""
    spark, view = work.spark, "differing_rows"
    names = once(differing, eager=True)
    names.createOrReplaceTempView(view)
    name = side.name or f"string({row_hash(after)})"
    rows = once(_joined(after, name, names, "left_semi"), eager=True)
    _begin(work, side)
    old = f"{side.where} AND {name} IN (SELECT name FROM {view})"
    tables.delete_on_branch(spark, side.table, work.branch, old, work.summary)
    files = 1 + rows.count() // ROWS_PER_FILE
    tables.append_on_branch(rows.coalesce(files), side.table, work.branch, work.summary)


def _begin(work: Healing, side: _Side) -> None:
    work.check()
    branches.create_branch(work.spark, side.table, work.branch)


def _joined(rows: DataFrame, name: str, keys: DataFrame, how: str) -> DataFrame:
    """The rows whose name is among the keys, a column of text; or is not, with `left_anti`."""
    named = rows.withColumn(_NAME, F.expr(name))
    return named.join(keys.distinct().toDF(_NAME), _NAME, how).drop(_NAME)
