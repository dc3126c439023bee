"""Removal: rows that the source does not have anymore go from silver, in a cut of their own.

In: what `reconcile` found, the newest cut. Out: a staged cut with the same offsets, which the steps
validate and publish judge and show as those of any other run. Where a run published meanwhile, the
rows that it changed stay: only what is still as it was judged goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from lakehouse.errors import StepFailed
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.conservation import to_json_counts
from lakehouse.plan.batches.tables import HISTORY_ENDING, STATE_ENDING
from lakehouse.plan.cuts.handover import StagedTable
from lakehouse.plan.cuts.published import excluded_of, held_of, identities_of
from lakehouse.plan.cuts.same_offsets import cut_upon
from lakehouse.plan.reconciling.repair import Removal
from lakehouse.plan.records import CutRow
from lakehouse.plan.remaking.replay import replay_laws
from lakehouse.spark import metadata
from lakehouse.spark.rewriting.removing import Removing, remove_rows
from lakehouse.spark.staging.properties import properties_of, remember_soft
from lakehouse.spark.staging.silver import cdc_of
from lakehouse.spark.tables import full_name
from lakehouse.steps.batches.applying import commit_summary, staging_branch
from lakehouse.steps.context import Json, StepContext, StepOutcome
from lakehouse.steps.remaking.reapply import laws_before
from lakehouse.steps.turn import Turn, in_turn, needed


def remove(context: StepContext) -> StepOutcome:
    """Stage the removals of a run.

    Raises:
        Superseded: Another run held the lease all the time.
        StepFailed: A table cannot lose rows so.
    """
    return in_turn(context, lambda turn: _staged(context, turn))


def _staged(context: StepContext, turn: Turn) -> StepOutcome:
    cut, token, check = needed(context.source.name, turn.cut), turn.token, turn.check
    branch = staging_branch(context, token)
    summary = commit_summary(context, token, f"{token:08d}", cut.offsets)
    tables = []
    for removal in context.removals:
        table = _fit(context, cut, removal)
        spark = context.spark.newSession()
        work = Removing(spark, removal, table.key, branch, summary, check)
        soft = context.source.table_options(TableIdentity.of(table.identity)).delete == "soft"
        if soft:
            remember_soft(spark, table.silver)
        tables.append(_changed(context, table, branch, *remove_rows(work, soft=soft)))
    changed = tuple(table for table in tables if table.changed)
    findings = [
        f"{table.silver}: {table.deletes} rows went that the source does not have"
        for table in changed
    ]
    staged = cut_upon(cut, branch, token, changed, findings)
    gone = sum(table.deletes for table in changed)
    return StepOutcome(
        f"{gone} rows of {len(changed)} tables went that the source does not have",
        cast("Mapping[str, Json]", to_json_counts(replay_laws(laws_before(context, cut), {}))),
        cast("Mapping[str, Json]", staged.to_detail()),
        batch_id=staged.cut_id,
        ends_run=not changed,
    )


def _fit(context: StepContext, cut: CutRow, removal: Removal) -> StagedTable:
    """The table as the cut has it.

    Raises:
        StepFailed: It cannot lose rows in a cut of their own.
    """
    silver = removal.table.silver
    stored = properties_of(context.ledger.catalog, silver)
    identity = identities_of(cut).get(silver)
    if identity is None or stored.key is None or silver in excluded_of(cut):
        raise StepFailed(f"Table {silver!r}: expected one of the newest cut; reconcile again")
    has_history = silver + HISTORY_ENDING in cut.tables
    if has_history or not stored.key:
        what = "keeps the versions of its rows" if has_history else "has no key"
        raise StepFailed(
            f"Table {silver!r}: it {what}: rows that the source does not have cannot go one by "
            f"one; do `lakehouse rebuild --source {context.source.name} --table "
            f"{removal.table.title}`"
        )
    return StagedTable(
        identity=identity,
        silver=silver,
        state=silver + STATE_ENDING,
        changed=False,
        snapshot=cut.tables.get(silver),
        state_snapshot=cut.tables.get(silver + STATE_ENDING),
        key=stored.key,
        cdc=cdc_of(context.spark.table(full_name(silver)).schema),
        rows=0,
        upserts=0,
        deletes=0,
        truncated=False,
        held=held_of(cut).get(silver, 0),
    )


def _changed(
    context: StepContext, table: StagedTable, branch: str, removed: int, rows: int
) -> StagedTable:
    if not removed:
        return table
    heads = metadata.refs(context.ledger.catalog, table.silver)
    states = metadata.refs(context.ledger.catalog, table.state)
    return replace(
        table,
        changed=True,
        snapshot=heads[branch],
        state_snapshot=states.get(branch, table.state_snapshot),
        rows=rows,
        deletes=removed,
    )
