"""What an erasure does to the Iceberg tables of a silver table, on a staging branch.

In: the keys. Out: commits after which no file that the branch reads has a row of theirs, deleted
ones included; then, once the branch is published, a table without a past.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyspark.sql import DataFrame, SparkSession

from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import ENDINGS, HISTORY_ENDING, MAIN, STATE_ENDING
from lakehouse.plan.upkeep.compacting import Layout
from lakehouse.spark import branches, tables
from lakehouse.spark.metadata import load_metadata, refs
from lakehouse.spark.once import once
from lakehouse.spark.rewriting import procedures
from lakehouse.spark.rewriting.removing import Branch, delete_marks, key_of
from lakehouse.spark.staging import silver

_EVENT = ("key", "position", "source_ts", "topic", "partition", "offset")
_VIEW = "erased_keys"
_THOROUGH = Layout(is_thorough=True)


@dataclass(frozen=True, slots=True)
class Erasing:
    """What the functions of one erasure share.

    Attributes:
        spark: A session of its own.
        catalog: The same catalog for PyIceberg.
        silver: Namespace and name of the silver table.
        key: The columns of its key.
        keys: `key` of the rows that are meant.
        branch: The staging branch.
        summary: Properties of its commits.
        check: Refuses to go on once another run took the lease.
        forget_key: Whether the keys' delete marks go too.
    """

    spark: SparkSession
    catalog: Catalog
    silver: str
    key: tuple[str, ...]
    keys: DataFrame
    branch: str
    summary: Mapping[str, str]
    check: Callable[[], None]
    forget_key: bool

    def rows(self, table: str) -> DataFrame:
        """The rows of the keys in `main`, whatever became of them."""
        stored = self.spark.table(tables.full_name(table))
        return stored.where(self.where(table))

    def where(self, table: str) -> str:
        """Whether a row belongs to one of the keys, as SQL over the table's columns."""
        self.keys.createOrReplaceTempView(_VIEW)
        stored = self.spark.table(tables.full_name(table))
        name = "key" if table == self.silver + STATE_ENDING else key_of(stored, self.key)
        return f"{name} IN (SELECT key FROM {_VIEW})"


def live_rows(work: Erasing) -> int:
    """How many rows of the keys silver shows."""
    cdc = quote_ident(silver.cdc_of(work.spark.table(tables.full_name(work.silver)).schema))
    return work.rows(work.silver).where(silver.is_live(cdc)).count()


def has_traces(work: Erasing) -> bool:
    """Whether silver, its history or its marks know one of the keys."""
    tables_ = (work.silver + ending for ending in ENDINGS)
    there = (name for name in tables_ if load_metadata(work.catalog, name) is not None)
    return any(not work.rows(name).isEmpty() for name in there)


def erase_rows(work: Erasing) -> dict[str, int]:
    """Take the keys' rows out, and write files again that have deleted rows.

    Returns:
        Iceberg table → the snapshot of the staging branch.
    """
    marks = None if work.forget_key else once(_marks(work), eager=True)
    found = {}
    for ending in ("", HISTORY_ENDING, *((STATE_ENDING,) if work.forget_key else ())):
        table = work.silver + ending
        if load_metadata(work.catalog, table) is None:
            continue
        work.check()
        branches.create_branch(work.spark, table, work.branch)
        where = work.where(table)
        tables.delete_on_branch(work.spark, table, work.branch, where, work.summary)
        procedures.rewrite_data_files(work.spark, table, _THOROUGH, branch=work.branch)
        tables.append_nothing(work.spark, table, work.branch, work.summary)
        found[table] = refs(work.catalog, table)[work.branch]
    if marks is not None and not marks.isEmpty():
        found[work.silver + STATE_ENDING] = _leave(work, marks)
    return found


def _marks(work: Erasing) -> DataFrame:
    """A mark for the newest delete of each key, of which bronze tells no more."""
    stored = work.rows(work.silver)
    cdc = quote_ident(silver.cdc_of(stored.schema))
    # Rows that are kept as deleted leave one, too.
    kept = stored.selectExpr(f"{key_of(stored, work.key)} AS key", f"{cdc}.*").select(*_EVENT)
    marked = work.rows(work.silver + STATE_ENDING).where(silver.IS_DELETE_MARK).select(*_EVENT)
    return delete_marks(kept.unionByName(marked), silver.ERASED)


def _leave(work: Erasing, marks: DataFrame) -> int:
    """The marks on the staging branch of the state table; its snapshot."""
    state = work.silver + STATE_ENDING
    work.check()
    branches.create_branch(work.spark, state, work.branch)
    Branch(work.spark, work.silver, work.key, work.branch, work.summary).leave(marks)
    return refs(work.catalog, state)[work.branch]


def forget_past(spark: SparkSession, catalog: Catalog, table: str) -> int:
    """Drop every ref but `main`, and every snapshot but its head, with the files of theirs.

    Returns:
        How many files were removed.
    """
    metadata = load_metadata(catalog, table)
    if metadata is None:
        return 0
    for name, ref in metadata.refs.items():
        if name != MAIN:
            drop = branches.drop_tag if ref.snapshot_ref_type == "tag" else branches.drop_branch
            drop(spark, table, name)
    metadata = load_metadata(catalog, table)
    head = metadata.snapshot_by_name(MAIN) if metadata else None
    old = [
        each.snapshot_id
        for each in (metadata.snapshots if metadata else ())
        if head is not None and each.snapshot_id != head.snapshot_id
    ]
    return procedures.expire_snapshots(spark, table, old) if old else 0
