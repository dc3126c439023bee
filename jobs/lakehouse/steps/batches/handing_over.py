"""What an apply hands over to `validate` and `publish`: its `StagedCut`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakehouse.plan.batches.batch import silver_identifier
from lakehouse.plan.batches.groups import topic_metrics, transaction_metrics
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.cuts.published import (
    Excluded,
    Renaming,
    excluded_of,
    held_of,
    own_cut,
    published_names,
)
from lakehouse.plan.cuts.stale import StaleColumns, stale_of, told
from lakehouse.plan.epochs import epochs_to_json
from lakehouse.plan.progress import Progress
from lakehouse.plan.schemas.table_names import TableNames
from lakehouse.spark.batches.reached import reached_below
from lakehouse.spark.metadata import is_only_rewritten
from lakehouse.spark.staging import silver
from lakehouse.spark.staging.stage import Staged
from lakehouse.steps.batches.applying import Applying
from lakehouse.steps.batches.table_findings import table_findings


def staged_cut(
    work: Applying,
    plans: list[TablePlan],
    names: TableNames,
    staged: Mapping[str, Staged],
    progress: tuple[Progress, str],
    stale: Mapping[str, StaleColumns],
) -> StagedCut:
    """What `publish` needs of an apply.

    Args:
        work: The apply.
        plans: All its tables.
        names: What silver's tables are called, and will be.
        staged: What was staged, by silver table.
        progress: The progress with the batch, and its highest position.
        stale: Silver table → columns of older rows that may differ from the source.
    """
    strayed = _foreign(work, plans)
    done = {plan.silver for plan in plans}
    behind = {name: left for name, left in excluded_of(work.cut).items() if name not in done}
    held = {plan.silver: _excluded(work, plan) for plan in plans if plan.hold}
    return StagedCut(
        branch=work.branch,
        token=work.token,
        cut_id=work.cut_id,
        base_cut=work.cut.cut_id if work.cut else "",
        offsets=progress[0].to_json(),
        position=progress[1],
        transactions=work.batch.transactions.complete,
        tables=tuple(
            staged_table(plan, staged[plan.silver]) for plan in plans if plan.silver in staged
        ),
        excluded={**behind, **held},
        findings=(
            *work.batch.transactions.findings,
            *work.batch.findings,
            *table_findings(plans, staged, held_keys(work, staged), strayed),
            *_needs_snapshot(work, stale),
        ),
        renames={
            plan.silver: Renaming(
                tuple((r.was, r.name) for r in plan.renames),
                plan.renamed if plan.renames else "",
                plan.dropped,
            )
            for plan in plans
            if plan.renames or plan.dropped
        },
        moves=_moves(work, names, staged),
        identities={
            silver_identifier(work.context.source.name, name): table.members
            for table, name in names.final.items()
        },
        epochs=epochs_to_json(work.batch.epochs),
        topics=topic_metrics(work.batch.all_groups, work.batch.landed),
        marks=transaction_metrics(work.batch.transactions.counts, work.batch.all_groups),
        stale=stale,
        strayed=strayed,
    )


def _needs_snapshot(work: Applying, stale: Mapping[str, StaleColumns]) -> tuple[str, ...]:
    """One sentence for each table that got its mark in this batch, or another column's."""
    known = stale_of(work.cut)
    return tuple(
        f"{silver} needs a snapshot: {told(columns)}"
        for silver, columns in stale.items()
        if not columns.keys() <= known.get(silver, {}).keys()
    )


def _moves(
    work: Applying, names: TableNames, staged: Mapping[str, Staged]
) -> tuple[tuple[str, str], ...]:
    """Silver tables that get another name; a new one only if it was staged."""
    source = work.context.source.name
    there = {*published_names(work.cut).values(), *(name.rpartition(".")[2] for name in staged)}
    return tuple(
        (silver_identifier(source, was), silver_identifier(source, name))
        for was, name in names.moves
        if was in there
    )


def _excluded(work: Applying, plan: TablePlan) -> Excluded:
    batch, before = work.batch, work.since.progress
    left = reached_below(batch.envelopes, before, batch.end, plan.limits, work.connector)
    return Excluded(own_cut(work.cut, plan.silver), plan.hold, left.to_json())


def staged_table(plan: TablePlan, staged: Staged) -> StagedTable:
    """One table of an apply as `publish` needs it."""
    newest = {column.name: column for v in plan.versions for column in v.stored_columns}
    return StagedTable(
        identity=plan.identity.members,
        silver=plan.silver,
        state=plan.state,
        changed=staged.changed,
        snapshot=staged.snapshot,
        state_snapshot=staged.state_snapshot,
        key=plan.key,
        cdc=silver.cdc_name(plan.columns),
        rows=staged.rows,
        upserts=staged.upserts,
        deletes=staged.deletes,
        truncated=bool(plan.truncate),
        unresolved=staged.unresolved,
        topics=tuple(sorted({topic for topic, _ in plan.places})),
        required=tuple(name for name, column in newest.items() if not column.optional),
        history=plan.history_table if plan.history else "",
        history_snapshot=staged.history_snapshot,
        held=staged.held,
        replayed=staged.replayed,
        soft=plan.soft,
    )


def _foreign(work: Applying, plans: Sequence[TablePlan]) -> dict[str, int]:
    """Tables to whose `main` another program has written behind the newest cut's snapshot."""
    known = work.cut.tables if work.cut else {}
    catalog = work.context.ledger.catalog
    published = {plan.silver: known[plan.silver] for plan in plans if plan.silver in known}
    return {n: s for n, s in published.items() if not is_only_rewritten(catalog, n, s)}


def held_keys(work: Applying, staged: Mapping[str, Staged]) -> dict[str, int]:
    """Silver table → how many of its keys are held with the batch; those with some."""
    found = held_of(work.cut) | {name: table.held for name, table in staged.items()}
    return {name: count for name, count in found.items() if count}
