"""Rows that a repair or an erasure took out of `main`, in a table that is made again from bronze.

In: `main`, and a branch of the table that was made. Out: their keys; commits on that branch that
take them out there too. The delete of such a row never arrived, so that bronze makes it again, or
was erased, so that an old event that is sent again would. What tells of it is `main` alone: a
delete mark with such a cause or, where deleted rows stay, a row that is marked as deleted at an
event that does not delete it. An event of the key that is newer wins, be it one that no run could
apply before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import MAIN, STATE_ENDING
from lakehouse.spark import tables
from lakehouse.spark.once import once
from lakehouse.spark.rewriting.removing import Branch, key_of
from lakehouse.spark.sql import literal
from lakehouse.spark.staging import silver

_IS_OURS = f"cause IN ({literal(silver.REPAIRED)}, {literal(silver.ERASED)})"
_PLACE = ("topic", "partition", "offset")
_SAME_PARTITION = "n.topic = m.topic AND n.partition = m.partition"
# As `collapse.judge_events` has it; a mark's own event may be of a later log by now.
_IS_NEWER = (
    f"n.key = m.key AND ("
    f"n.position > m.position AND NOT ({_SAME_PARTITION} AND n.offset = m.offset) OR "
    f"n.position = m.position AND {_SAME_PARTITION} AND n.offset > m.offset)"
)


@dataclass(frozen=True, slots=True)
class Removed:
    """What repairs and erasures took out of a table that has a key.

    Attributes:
        spark: A session of this table's own.
        silver: Namespace and name of the silver table.
        key: The columns of its key.
        made: The branch with the rows that were made again.
    """

    spark: SparkSession
    silver: str
    key: tuple[str, ...]
    made: str

    def marks(self) -> DataFrame:
        """Their delete marks, but for keys of which something newer was made."""
        state = self.silver + STATE_ENDING
        there, made = (
            tables.at_ref(self.spark, state, ref).where(silver.IS_DELETE_MARK)
            for ref in (MAIN, self.made)
        )
        columns = ("key", "position", *_PLACE)
        newest = self._rows(self.made).select(*columns).unionByName(made.select(*columns))
        return (
            there.where(_IS_OURS).alias("m").join(newest.alias("n"), F.expr(_IS_NEWER), "left_anti")
        )

    def marked(self) -> DataFrame:
        """`key` of the rows that a removal marked as deleted: by its event each one lives."""
        there = self._rows(MAIN, "NOT ({})")
        made = self._rows(self.made, "{}")
        return there.join(made, ["key", *_PLACE], "left_semi").select("key")

    def _rows(self, ref: str, live: str = "true") -> DataFrame:
        """`key` and the coordinates of rows; `live` says which, {} is whether one is live."""
        rows = tables.at_ref(self.spark, self.silver, ref)
        cdc = quote_ident(silver.cdc_of(rows.schema))
        mine = rows.where(live.format(silver.is_live(cdc)))
        return mine.selectExpr(f"{key_of(rows, self.key)} AS key", f"{cdc}.*")


def keep_out(
    removed: Removed, summary: Mapping[str, str], check: Callable[[], None], *, soft: bool
) -> int | None:
    """Take out of the branch too what repairs and erasures took out of `main`.

    Args:
        removed: The table.
        summary: Properties of the commits.
        check: Refuses to go on once another run took the lease.
        soft: Whether the table may have rows that are only marked as deleted.

    Returns:
        How many live rows the branch has then; None where nothing was taken out.
    """
    marks = once(removed.marks(), eager=True)
    marked = once(removed.marked(), eager=True) if soft else None
    has_marks, has_marked = not marks.isEmpty(), marked is not None and not marked.isEmpty()
    if not (has_marks or has_marked):
        return None
    check()
    branch = Branch(removed.spark, removed.silver, removed.key, removed.made, summary)
    if has_marks:
        branch.take_out(marks)
    if marked is not None and has_marked:
        branch.mark_deleted(marked)
    return branch.live_rows()
