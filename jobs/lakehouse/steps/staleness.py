"""Which columns of older rows differ from the source behind a batch, or may.

In: the newest cut's marks, the plans, what is staged. Out: the marks of each table that the batch
looked at. Rows are counted only where they may have become fewer: when a mark is new, and when the
batch reads rows again or removes all.
"""

from __future__ import annotations

from collections.abc import Mapping

from lakehouse.plan.batch import table_groups
from lakehouse.plan.stale import Stale, followed, new_marks, stale_of
from lakehouse.plan.tables import TablePlan
from lakehouse.spark.silver import cdc_name
from lakehouse.spark.stage import Staged
from lakehouse.spark.stale_rows import has_older_rows
from lakehouse.steps.applying import Applying


def stale_columns(
    work: Applying, plans: list[TablePlan], staged: Mapping[str, Staged]
) -> dict[str, dict[str, Stale]]:
    """Silver table → its marked columns behind the batch.

    Args:
        work: The apply.
        plans: All its tables.
        staged: What was staged, by silver table.
    """
    known = stale_of(work.cut)
    groups = table_groups(work.batch.groups, work.context.source)
    found = {}
    for plan in plans:
        marks = known.get(plan.silver, {}) | new_marks(plan, work.batch.end)
        mine = groups.get(plan.identity, ())
        is_read = any(g.first_incremental or g.snapshots_ended or g.truncate for g in mine)
        if plan.silver in staged and marks and (is_read or plan.stale):
            marks = _left(work, plan, marks, staged[plan.silver].snapshot)
        if marks or plan.silver in known:
            found[plan.silver] = followed(marks, plan)
    return found


def _left(
    work: Applying, plan: TablePlan, marks: Mapping[str, Stale], snapshot: int | None
) -> dict[str, Stale]:
    if snapshot is None:
        return {}
    cdc, spark = cdc_name(plan.columns), work.context.spark
    older = {
        since: has_older_rows(spark, plan.silver, snapshot, cdc, since)
        for since in {mark.since for mark in marks.values()}
    }
    return {name: mark for name, mark in marks.items() if older[mark.since]}
