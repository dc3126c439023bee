"""The tables of a rebuild, staged on a branch that does not begin at `main`.

In: the cut that they are built to, or the rebuild that is taken back. Out: a `Built` value; later
the same with what was published meanwhile, and without what repairs and erasures took out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from lakehouse.errors import StepFailed
from lakehouse.plan.cuts.handover import StagedTable
from lakehouse.plan.epochs import epochs_from_json
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow
from lakehouse.plan.remaking.rebuilding import Choice, Ground, Rebuild, granted
from lakehouse.plan.remaking.replaceable import refuse_meanwhile
from lakehouse.plan.remaking.replay import taken_out
from lakehouse.spark import metadata
from lakehouse.spark.ordering.since import Since
from lakehouse.spark.rewriting.removed import Removed, keep_out
from lakehouse.spark.session import tune
from lakehouse.spark.staging.properties import properties_of
from lakehouse.steps.batches.applying import Rebuilt, commit_summary
from lakehouse.steps.batches.handing_over import staged_table
from lakehouse.steps.batches.staging import stage_all
from lakehouse.steps.context import StepContext
from lakehouse.steps.remaking.remaking import Built, Part, begin, fitting, opened, plans_of, staged
from lakehouse.steps.together import together


def build(context: StepContext, rebuild: Rebuild, cut: CutRow, choice: Choice) -> Built:
    """Stage what bronze has of tables up to a cut, while others may publish.

    Raises:
        StepFailed: Bronze lacks messages, or a table does not fit today's schema or TOML file.
    """
    begun = datetime.now(UTC)
    work = begin(context, cut, choice, (cut.token, lambda: None))
    choice, plans = fitting(work, choice)
    choice = granted(cut.source, choice, rebuild)
    return staged(work, plans, choice, (cut, begun))


def catch_up(
    context: StepContext, built: Built, newest: CutRow, token: int, check: Callable[[], None]
) -> Built:
    """Stage what was published behind the cut that tables are built to; under the lease.

    Raises:
        StepFailed: It cannot be caught up.
        Superseded: Another run took the lease.
    """
    name = context.source.name
    behind = [
        row
        for row in context.ledger.cuts(name)
        if row.state == "published" and row.cut_id > built.cut.cut_id
    ]
    replayed = taken_out(context.ledger.quarantine(name), built.begun, built.cut.run_id)
    refuse_meanwhile(built.cut, behind, built.tables, replayed)
    start = Progress.from_json(built.cut.offsets)
    if newest.offsets == built.cut.offsets:
        return built
    grounds = {
        silver_: Ground(built.columns[silver_], start, built.cut.position, table.held, built.branch)
        for silver_, table in built.tables.items()
    }
    since = Since(start, built.cut.position, start.offsets, epochs=epochs_from_json(newest.epochs))
    work = opened(context, newest, token, check, since, Rebuilt(built.branch, grounds))
    plans, _ = plans_of(work)
    if held := [f"{plan.silver}: {plan.hold}" for plan in plans if plan.hold]:
        raise StepFailed(
            f"Source {name!r}: built to cut {built.cut.cut_id}, and then {'; '.join(held)}: "
            "expected changes that silver follows; nothing was replaced, do the rebuild again"
        )
    plans = [plan for plan in plans if plan.versions]
    part = Part(work, tuple(plans), stage_all(work, plans))
    later = {plan.silver: staged_table(plan, part.staged[plan.silver]) for plan in plans}
    tables = {n: _both(table, later.get(n)) for n, table in built.tables.items()}
    return replace(built, tables=tables, parts=(*built.parts, part))


def without_removed(
    context: StepContext, built: Built, newest: CutRow, token: int, check: Callable[[], None]
) -> Built:
    """Rows that repairs or erasures took out of the running tables stay out; under the lease.

    Raises:
        Superseded: Another run took the lease.
    """
    catalog = context.ledger.catalog
    summary = commit_summary(context, token, f"{token:08d}", newest.offsets)

    def one(table: StagedTable) -> StagedTable:
        if not table.key:
            return table
        session = context.spark.newSession()
        tune(session, 2 * table.rows)
        removed = Removed(session, table.silver, table.key, built.branch)
        rows = keep_out(removed, summary, check, soft=properties_of(catalog, table.silver).soft)
        if rows is None:
            return table
        silver_, state = (metadata.refs(catalog, name) for name in (table.silver, table.state))
        return replace(
            table,
            snapshot=silver_[built.branch],
            state_snapshot=state[built.branch],
            rows=rows,
        )

    tables = together(one, built.tables.values())
    return replace(built, tables=dict(zip(built.tables, tables, strict=True)))


def _both(table: StagedTable, later: StagedTable | None) -> StagedTable:
    """A table after two batches."""
    if later is None:
        return table
    lacking = {
        name: table.unresolved.get(name, 0) + later.unresolved.get(name, 0)
        for name in {**table.unresolved, **later.unresolved}
    }
    topics = tuple(sorted({*table.topics, *later.topics}))
    return replace(later, unresolved=lacking, topics=topics, truncated=False)
