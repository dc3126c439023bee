"""Rows of a silver table that a comparison found to be gone from the source, taken out of it.

In: digests of their keys, each with where the row came from. Out: commits on a staging branch of
the silver table and of its state table, as those of deletes that were sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import STATE_ENDING
from lakehouse.plan.reconciling.repair import Removal
from lakehouse.spark import branches, tables
from lakehouse.spark.once import once
from lakehouse.spark.parsing.epochs import epoch_of
from lakehouse.spark.rewriting.reconciling import PLACE, compared_columns, row_values
from lakehouse.spark.rows import values_text
from lakehouse.spark.sql import literal
from lakehouse.spark.staging import silver

_KEYS = "row_key string"
_ARROW = pa.schema([("row_key", pa.string())])


@dataclass(frozen=True, slots=True)
class Removing:
    """What the functions of one removal share.

    Attributes:
        spark: A session of this table's own.
        removal: What goes.
        key: The columns of the silver table's key.
        branch: The staging branch.
        summary: Properties of its commits.
        check: Refuses to go on once another run took the lease.
    """

    spark: SparkSession
    removal: Removal
    key: tuple[str, ...]
    branch: str
    summary: Mapping[str, str]
    check: Callable[[], None]

    @property
    def silver(self) -> str:
        """Namespace and name of the silver table."""
        return self.removal.table.silver


@dataclass(frozen=True, slots=True)
class Branch:
    """A silver table and its state table on a branch that is there.

    Attributes:
        spark: A session of this table's own.
        silver: Namespace and name of the silver table.
        key: The columns of its key.
        name: The branch.
        summary: Properties of its commits.
    """

    spark: SparkSession
    silver: str
    key: tuple[str, ...]
    name: str
    summary: Mapping[str, str]

    def take_out(self, marks: DataFrame) -> None:
        """Rows go, and leave these marks.

        Args:
            marks: Delete marks, in the state table's columns.
        """
        tables.delete_on_branch(
            self.spark, self.silver, self.name, self._where(marks), self.summary
        )
        self.leave(marks)

    def leave(self, marks: DataFrame) -> None:
        """Delete marks take the place of those that their keys have."""
        marks.createOrReplaceTempView("removed_keys")
        state = self.silver + STATE_ENDING
        older = f"{silver.IS_DELETE_MARK} AND key IN (SELECT key FROM removed_keys)"
        tables.delete_on_branch(self.spark, state, self.name, older, self.summary)
        tables.append_on_branch(marks.coalesce(1), state, self.name, self.summary)

    def mark_deleted(self, keys: DataFrame) -> None:
        """Rows stay where they came from, marked as deleted.

        Args:
            keys: Their `key`.
        """
        cdc = quote_ident(silver.cdc_of(self._rows().schema))
        values = f"{cdc} = named_struct({_deleted(cdc)})"
        mine = self._where(keys)
        tables.update_on_branch(
            self.spark, self.silver, self.name, values, self.summary, where=mine
        )

    def live_rows(self) -> int:
        """How many rows are not marked as deleted, counted."""
        rows = self._rows()
        return rows.where(silver.is_live(quote_ident(silver.cdc_of(rows.schema)))).count()

    def _where(self, keys: DataFrame) -> str:
        keys.createOrReplaceTempView("removed_keys")
        return f"{key_of(self._rows(), self.key)} IN (SELECT key FROM removed_keys)"

    def _rows(self) -> DataFrame:
        return self.spark.table(tables.full_name(self.silver, self.name))


def remove_rows(work: Removing, *, soft: bool) -> tuple[int, int]:
    """Take the rows out, on the branch.

    Args:
        work: The table.
        soft: Whether rows that go stay, marked as deleted.

    Returns:
        How many keys went, and how many live rows there are then; 0 keys leave no branch.
    """
    spark, state = work.spark, work.silver + STATE_ENDING
    marks = once(_marks(work), eager=True)
    keys = marks.count()
    if not keys:
        return 0, 0
    work.check()
    branches.create_branch(spark, work.silver, work.branch)
    branch = Branch(spark, work.silver, work.key, work.branch, work.summary)
    if soft:
        branch.mark_deleted(marks.select("key"))
    else:
        branches.create_branch(spark, state, work.branch)
        branch.take_out(marks)
    return keys, branch.live_rows()


def _marks(work: Removing) -> DataFrame:
    """A delete mark for each row that is still as it was judged."""
    stored = work.spark.table(tables.full_name(work.silver))
    cdc = quote_ident(silver.cdc_of(stored.schema))
    live = stored.where(silver.is_live(cdc))
    place = f"{PLACE.format(cdc)} AS place"
    chosen = live.selectExpr(
        *compared_columns(work.removal.table), place, f"{key_of(stored, work.key)} AS row_key"
    ).mapInArrow(partial(_chosen, work.removal), _KEYS)
    rows = live.selectExpr(f"{key_of(stored, work.key)} AS key", f"{cdc} AS c")
    gone = rows.join(chosen.distinct(), rows["key"] == chosen["row_key"], "left_semi")
    return delete_marks(gone.select("key", "c.*"), silver.REPAIRED)


def delete_marks(events: DataFrame, cause: str) -> DataFrame:
    """A delete mark of each key, at its newest event, in the state table's columns.

    Args:
        events: `key` and the coordinates of events, as silver and its state table have them.
        cause: Why no delete in bronze tells of it.
    """
    coordinates = "struct(position, source_ts, topic, partition, offset)"
    newest = events.groupBy("key").agg(F.expr(f"max_by({coordinates}, position) AS c"))
    return newest.selectExpr(
        "key",
        f"{literal(silver.DELETE_MARK)} AS kind",
        "c.position",
        f"{epoch_of('c.position')} AS epoch",
        f"{literal(cause)} AS cause",
        "c.source_ts",
        "c.topic",
        "c.partition",
        "c.offset",
    )


def key_of(stored: DataFrame, key: Iterable[str]) -> str:
    """SQL for text that names a row of a silver table, as the state table has it.

    Args:
        stored: The silver table.
        key: The columns of its key.
    """
    types = {field.name: tables.type_ddl(field.dataType) for field in stored.schema.fields}
    return values_text({name: types[name] for name in key})


def _deleted(cdc: str) -> str:
    names = ("op", "position", "epoch", "source_ts", "topic", "partition", "offset")
    values = (literal(DELETE) if name == "op" else f"{cdc}.{name}" for name in names)
    return ", ".join(f"{literal(n)}, {value}" for n, value in zip(names, values, strict=True))


def _chosen(removal: Removal, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    table = removal.table
    for batch in batches:
        found = [
            key
            for *values, place, key in row_values(batch)
            if (table.key_digest(table.texts(values, of_silver=True)), place) in removal.rows
        ]
        yield pa.RecordBatch.from_arrays([pa.array(found, pa.string())], schema=_ARROW)
