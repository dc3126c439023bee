"""Which columns of older rows differ from the source behind a batch, or may.

In: the newest cut's marks, the plans, what is staged. Out: the marks of each table that the batch
looked at, and of those whose messages were lost. Rows are counted only where they may have become
fewer: when a mark is new, and when the batch reads rows again or removes all.
"""

from __future__ import annotations

from collections.abc import Mapping

from lakehouse.plan.batches.batch import table_groups
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.cuts.published import identities_of
from lakehouse.plan.cuts.stale import Stale, both, followed, lost_marks, new_marks, stale_of
from lakehouse.spark.bronze.lost_offsets import lost_offsets
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.rewriting.stale_rows import has_older_rows, shown_values
from lakehouse.spark.staging.silver import cdc_name
from lakehouse.spark.staging.stage import Staged
from lakehouse.steps.batches.applying import Applying


def stale_columns(
    work: Applying, plans: list[TablePlan], staged: Mapping[str, Staged]
) -> dict[str, dict[str, Stale]]:
    """Silver table → its marked columns behind the batch.

    Args:
        work: The apply.
        plans: All its tables.
        staged: What was staged, by silver table.
    """
    known, lost = stale_of(work.cut), _lost(work)
    known |= {name: both(known.get(name, {}), marks) for name, marks in lost.items()}
    groups = table_groups(work.batch.groups, work.context.source)
    found = {name: known[name] for name in lost}
    for plan in plans:
        marks = known.get(plan.silver, {}) | new_marks(plan, work.batch.end)
        mine = groups.get(plan.identity, ())
        is_read = any(g.first_incremental or g.snapshots_ended or g.truncate for g in mine)
        if plan.silver in staged and marks and (is_read or plan.stale):
            marks = _left(work, plan, marks, staged[plan.silver].snapshot)
        if marks or plan.silver in known:
            found[plan.silver] = followed(marks, plan)
    return found


def _lost(work: Applying) -> dict[str, dict[str, Stale]]:
    """The marks of tables whose messages were lost since the newest cut; without one all is new."""
    ledger, source = work.context.ledger, work.context.source.name
    lost = lost_offsets(Bronze(source, ledger), work.since.judged)
    if not lost or work.cut is None:
        return {}
    silver = {parts: name for name, parts in identities_of(work.cut).items()}
    topics: dict[str, set[str]] = {}
    for version in ledger.schema_versions(source):
        if name := silver.get(version.source_table.members):
            topics.setdefault(version.topic, set()).add(name)
    return lost_marks(lost, topics)


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
    left = {name: mark for name, mark in marks.items() if older[mark.since]}
    shown = _shown(work, plan, left, snapshot)
    return {name: mark for name, mark in left.items() if name not in shown}


def _shown(work: Applying, plan: TablePlan, marks: Mapping[str, Stale], snapshot: int) -> set[str]:
    """The columns whose value in older rows is one that rows behind the change have, too."""
    doubted = [name for name in marks if name in plan.stale and plan.stale[name].unless_shown]
    cdc, spark = cdc_name(plan.columns), work.context.spark
    shown: set[str] = set()
    for since in {marks[name].since for name in doubted}:
        values = {
            name: plan.defaults.get(name.lower()) for name in doubted if marks[name].since == since
        }
        shown |= shown_values(spark, plan.silver, snapshot, cdc, since, values)
    return shown
