"""A backfill's tables: which rows are made again, and how they come beside the others.

In: an interval and the newest cut. Out: a branch of each touched table with nothing but the rows
that the interval touches, all of their messages applied; later a staging branch with those that
differ in the place of the running ones. A table of which no key tells what is touched (rows without
a key, a truncate, the end of a source snapshot) is made again as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from lakehouse.config import mask_secret
from lakehouse.names import TableIdentity, quote_ident
from lakehouse.plan.batches.batch import table_groups
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.tables import MAIN, TablePlan
from lakehouse.plan.cuts.handover import StagedTable
from lakehouse.plan.cuts.published import held_of, identities_of
from lakehouse.plan.records import CutRow
from lakehouse.plan.remaking.backfilling import Backfill
from lakehouse.plan.remaking.differences import Difference
from lakehouse.plan.remaking.rebuilding import Choice, Rebuild, candidates, granted
from lakehouse.spark import metadata, tables
from lakehouse.spark.batches.profile import profile
from lakehouse.spark.once import once
from lakehouse.spark.rewriting.healing import Healing, heal, held_keys
from lakehouse.spark.session import tune
from lakehouse.spark.staging import silver
from lakehouse.spark.staging.touched import of_interval, touched_keys
from lakehouse.steps.batches.applying import Applying, Rebuilt, commit_summary, staging_branch
from lakehouse.steps.context import StepContext
from lakehouse.steps.remaking.remaking import Built, begin, fitting, staged
from lakehouse.steps.remaking.replacement import drop_branches
from lakehouse.steps.together import together


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What a backfill has made.

    Attributes:
        built: The touched tables, on a branch that has the rows that were made alone.
        of_interval: The same, with no other messages than those of the interval.
        branch: The staging branch.
        token: Fencing token of the commits.
        check: Refuses to go on once another run took the lease.
        touched: Silver table → the global view of the rows that were made; of the others all were.
    """

    built: Built
    of_interval: Built
    branch: str
    token: int
    check: Callable[[], None]
    touched: Mapping[str, str]


def narrow(
    context: StepContext, asked: Backfill, cut: CutRow, fence: tuple[int, Callable[[], None]]
) -> Narrowed:
    """Make the rows again that an interval touches, up to a cut.

    Args:
        context: The run.
        asked: The interval, and the tables.
        cut: The newest one.
        fence: The token of the commits, and the check before each.

    Raises:
        StepFailed: Bronze lacks messages, or a table that was named cannot be made again.
    """
    begun = datetime.now(UTC)
    choice = candidates(cut, asked.tables, context.source.connector)
    work = begin(context, cut, choice, fence)
    events = of_interval(work.batch, asked.interval)
    groups = table_groups(profile(events, work.since.position), context.source)
    choice = _touched(choice, cut, groups)
    choice, plans = fitting(_only(work, choice), choice)
    if asked.tables and choice.left:
        granted(cut.source, choice, Rebuild(asked.tables))
    views = _views(work, events, [p for p in plans if not is_whole(p, groups[p.identity])])
    try:
        built = staged(work, plans, choice, (cut, begun), views)
    except Exception:
        drop_branches(context, choice.tables)
        raise
    part = built.parts[0]
    inside = replace(part, work=replace(work, batch=replace(work.batch, envelopes=events)))
    branch = staging_branch(context, fence[0])
    return Narrowed(built, replace(built, parts=(inside,)), branch, *fence, views)


def put_away(context: StepContext, made: Narrowed) -> None:
    """What was made is on the staging branch as far as it differs."""
    for view in made.touched.values():
        context.spark.catalog.dropGlobalTempView(view)
    drop_branches(context, made.built.tables)


def is_whole(plan: TablePlan, groups: Collection[Group]) -> bool:
    """Whether an interval touches rows that its messages do not name."""
    return plan.is_bag or any(group.truncate or group.snapshots_ended for group in groups)


def _views(work: Applying, events: DataFrame, plans: Iterable[TablePlan]) -> dict[str, str]:
    """Silver table → the global view of the `row_key` of the rows that envelopes touch."""
    source, views = work.context.source, {}
    for number, plan in enumerate(plans):
        name = re.sub(r"[^a-z0-9]", "_", source.name)
        views[plan.silver] = f"touched_{work.token}_{number}_{name}"
        keys = once(touched_keys(events, plan, mask_secret(source)), eager=True)
        keys.createOrReplaceGlobalTempView(views[plan.silver])
    return views


def _touched(choice: Choice, cut: CutRow, touched: Collection[TableIdentity]) -> Choice:
    """The touched tables of a choice."""
    known = {name: TableIdentity.of(parts) for name, parts in identities_of(cut).items()}
    return Choice(
        {name: table for name, table in choice.tables.items() if table in touched},
        {name: why for name, why in choice.left.items() if known[name] in touched},
    )


def _only(work: Applying, choice: Choice) -> Applying:
    """The open batch for the tables of a choice alone."""
    grounds = work.rebuilt.grounds if work.rebuilt else {}
    mine = {name: grounds[name] for name in choice.tables}
    return replace(work, rebuilt=Rebuilt(work.branch, mine))


def heal_all(made: Narrowed) -> dict[str, tuple[int | None, Difference]]:
    """Stage what differs; Iceberg table → the head of `main`, and how it differs."""
    parts = together(lambda plan: _heal(made, plan), made.built.parts[0].plans)
    return {name: each for part in parts for name, each in part.items()}


def _heal(made: Narrowed, plan: TablePlan) -> dict[str, tuple[int | None, Difference]]:
    work = made.built.parts[0].work
    context, catalog = work.context, work.context.ledger.catalog
    session = context.spark.newSession()
    tune(session, work.batch.size)
    offsets = made.built.cut.offsets
    healing = Healing(
        session,
        catalog,
        plan,
        work.branch,
        made.branch,
        made.touched.get(plan.silver, ""),
        commit_summary(context, made.token, work.cut_id, offsets),
        made.check,
    )
    return {
        name: (metadata.refs(catalog, name).get(MAIN), found)
        for name, found in heal(healing).items()
    }


def healed(context: StepContext, table: StagedTable, branch: str, cut: CutRow) -> StagedTable:
    """A table as the staging branch has it, for a cut."""
    catalog, spark = context.ledger.catalog, context.spark
    refs = {name: metadata.refs(catalog, name) for name in table.own_tables}
    heads = {name: found.get(branch, found.get(MAIN)) for name, found in refs.items()}
    at = {name: branch if branch in found else MAIN for name, found in refs.items()}
    rows = tables.at_ref(spark, table.silver, at[table.silver])
    live = silver.is_live(quote_ident(table.cdc))
    counts = rows.selectExpr("count(*) AS n", f"count_if({live}) AS live").collect()[0]
    held = held_of(cut).get(table.silver, 0)
    if at[table.state] == branch:
        held = held_keys(spark, table.state, branch)
    return replace(
        table,
        snapshot=heads[table.silver],
        state_snapshot=heads[table.state],
        history_snapshot=heads.get(table.history),
        rows=counts["live"],
        upserts=counts["n"],
        deletes=0,
        truncated=False,
        held=held,
    )
