"""Rows of a silver table that a comparison found to be gone from the source, taken out of it.

In: digests of their keys, each with where the row came from. Out: commits on a staging branch of
the silver table and of its state table, as those of deletes that were sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.reconciling.repair import Removal
from lakehouse.plan.tables import STATE_ENDING
from lakehouse.spark import silver, tables
from lakehouse.spark.epochs import epoch_of
from lakehouse.spark.reconciling import PLACE, compared_columns, row_values
from lakehouse.spark.rows import values_text
from lakehouse.spark.sql import literal

# Why a mark stands that a removal has left.
CAUSE = "reconcile"
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


def remove_rows(work: Removing, *, soft: bool) -> tuple[int, int]:
    """Take the rows out, on the branch.

    Args:
        work: The table.
        soft: Whether rows that go stay, marked as deleted.

    Returns:
        How many keys went, and how many live rows there are then; 0 keys leave no branch.
    """
    spark, state = work.spark, work.silver + STATE_ENDING
    marks = _marks(work).localCheckpoint()
    keys = marks.count()
    if not keys:
        return 0, 0
    marks.createOrReplaceTempView("removed_keys")
    work.check()
    tables.create_branch(spark, work.silver, work.branch)
    stored = spark.table(tables.full_name(work.silver))
    mine = f"{_key_text(work, stored)} IN (SELECT key FROM removed_keys)"
    if soft:
        cdc = quote_ident(silver.cdc_of(stored.schema))
        as_deleted = f"{cdc} = named_struct({_deleted(cdc)})"
        tables.update_on_branch(
            spark, work.silver, work.branch, as_deleted, work.summary, where=mine
        )
        return keys, _live_rows(work)
    tables.delete_on_branch(spark, work.silver, work.branch, mine, work.summary)
    tables.create_branch(spark, state, work.branch)
    older = f"kind = {literal(silver.DELETE_MARK)} AND key IN (SELECT key FROM removed_keys)"
    tables.delete_on_branch(spark, state, work.branch, older, work.summary)
    tables.append_on_branch(marks.coalesce(1), state, work.branch, work.summary)
    return keys, _live_rows(work)


def _live_rows(work: Removing) -> int:
    rows = work.spark.table(tables.full_name(work.silver, work.branch))
    return rows.where(silver.is_live(quote_ident(silver.cdc_of(rows.schema)))).count()


def _marks(work: Removing) -> DataFrame:
    """A delete mark for each row that is still as it was judged."""
    stored = work.spark.table(tables.full_name(work.silver))
    cdc = quote_ident(silver.cdc_of(stored.schema))
    live = stored.where(silver.is_live(cdc))
    place = f"{PLACE.format(cdc)} AS place"
    chosen = live.selectExpr(
        *compared_columns(work.removal.table), place, f"{_key_text(work, stored)} AS row_key"
    ).mapInArrow(partial(_chosen, work.removal), _KEYS)
    rows = live.selectExpr(f"{_key_text(work, stored)} AS key", f"{cdc} AS c")
    gone = rows.join(chosen.distinct(), rows["key"] == chosen["row_key"], "left_semi")
    newest = gone.groupBy("key").agg(F.expr("max_by(c, c.position) AS c"))
    return newest.selectExpr(
        "key",
        f"{literal(silver.DELETE_MARK)} AS kind",
        "c.position",
        f"{epoch_of('c.position')} AS epoch",
        f"{literal(CAUSE)} AS cause",
        "c.source_ts",
        "c.topic",
        "c.partition",
        "c.offset",
    )


def _key_text(work: Removing, stored: DataFrame) -> str:
    types = {field.name: tables.type_ddl(field.dataType) for field in stored.schema.fields}
    return values_text({name: types[name] for name in work.key})


def _deleted(cdc: str) -> str:
    names = ("op", "position", "epoch", "source_ts", "topic", "partition", "offset")
    values = (literal(DELETE) if name == "op" else f"{cdc}.{name}" for name in names)
    return ", ".join(f"'{n}', {value}" for n, value in zip(names, values, strict=True))


def _chosen(removal: Removal, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    table = removal.table
    for batch in batches:
        found = [
            key
            for *values, place, key in row_values(batch)
            if (table.key_digest(table.texts(values, of_silver=True)), place) in removal.rows
        ]
        yield pa.RecordBatch.from_arrays([pa.array(found, pa.string())], schema=_ARROW)
