"""Writes what a batch does to the state table of one table, on its staging branch.

In: the winners of the batch, its truncates, the keys that are held. Out: one commit or two on the
branch: marks of keys that went or are held, barriers; marks that are no longer needed go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from lakehouse.envelope import DELETE
from lakehouse.plan.batches.sweeps import ENDS
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.spark import tables
from lakehouse.spark.decoding.truncates import Truncate, as_array
from lakehouse.spark.sql import literal
from lakehouse.spark.staging import silver
from lakehouse.spark.staging.holds import Holds
from lakehouse.spark.staging.writing import COORDINATES, EPOCH, Work

# The only deletes of a source snapshot are those of the rows that it did not read.
_CAUSE = f"if(snapshot IN ({', '.join(map(literal, ENDS))}), 'sweep', 'delete')"
# The columns of a winner's delete mark.
MARK = (
    "row_key AS key",
    f"{literal(silver.DELETE_MARK)} AS kind",
    "position",
    EPOCH,
    f"{_CAUSE} AS cause",
    *COORDINATES,
)


def is_mark(plan: TablePlan) -> str:
    """Whether a winner leaves a delete mark."""
    return "NOT kept" if plan.is_bag else f"op = {literal(DELETE)} AND NOT kept"


def write_state(
    work: Work,
    folded: DataFrame,
    numbers: Mapping[str, int],
    truncates: Sequence[Truncate],
    holds: Holds,
) -> None:
    """Marks of keys that went or are held, a barrier for each truncate; marks of others go."""
    spark, plan = work.spark, work.plan
    if not (numbers["marked"] or numbers["marks"] or truncates or holds.changed):
        return
    work.begin(plan.state)
    if numbers["marked"]:
        folded.where("marked").select("row_key").createOrReplaceTempView("unmarked_keys")
        gone = f"{silver.IS_DELETE_MARK} AND key IN (SELECT row_key FROM unmarked_keys)"
        tables.delete_on_branch(spark, plan.state, work.branch, gone, work.summary)
    if holds.marks is not None and holds.gone:
        _heal(work, holds.marks)
    rows = folded.where(is_mark(plan)).selectExpr(*MARK)
    if truncates:
        rows = rows.unionByName(_barriers(work, truncates))
    if holds.marks is not None and holds.fresh:
        rows = rows.unionByName(_held(holds.marks))
    tables.append_on_branch(rows.coalesce(1), plan.state, work.branch, work.summary)


def _barriers(work: Work, truncates: Sequence[Truncate]) -> DataFrame:
    rows = work.spark.range(1).selectExpr(f"inline({as_array(truncates)})")
    return rows.selectExpr(
        "CAST(NULL AS string) AS key",
        f"{literal(silver.BARRIER)} AS kind",
        "position",
        EPOCH,
        "'truncate' AS cause",
        *COORDINATES,
    )


def _heal(work: Work, marks: DataFrame) -> None:
    event = "topic, partition, offset"
    healed = marks.where("was AND NOT stays").selectExpr("row_key AS key", "*")
    healed.createOrReplaceTempView("healed_keys")
    condition = (
        f"kind = {literal(silver.HELD)} AND "
        f"(key, {event}) IN (SELECT key, {event} FROM healed_keys)"
    )
    tables.delete_on_branch(work.spark, work.plan.state, work.branch, condition, work.summary)


def _held(marks: DataFrame) -> DataFrame:
    return marks.where("stays AND NOT was").selectExpr(
        "row_key AS key",
        f"{literal(silver.HELD)} AS kind",
        "position",
        EPOCH,
        "reason AS cause",
        *COORDINATES,
    )
