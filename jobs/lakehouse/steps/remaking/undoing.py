"""A rebuild taken back: its tables as they were before it, with what was published since.

In: the newest cut of a rebuild, whose old snapshots are tagged. Out: a `Built` value, as a rebuild
has one.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from lakehouse.errors import StepFailed
from lakehouse.names import quote_ident
from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.cuts.published import held_of, replaced_of
from lakehouse.plan.records import QUARANTINE, CutRow
from lakehouse.plan.remaking.rebuilding import Choice, rebuild_to_undo
from lakehouse.plan.remaking.replay import put_back
from lakehouse.spark import branches, metadata, tables
from lakehouse.spark.rewriting.replacing import begin_empty
from lakehouse.spark.staging import silver
from lakehouse.steps.context import StepContext
from lakehouse.steps.remaking.remaking import Built, branch_of


def take_back(context: StepContext, choice: Choice) -> Built:
    """Make branches of what the newest rebuild has replaced.

    Args:
        context: The run.
        choice: Tables that may be taken back; those that the rebuild left alone are none of them.

    Raises:
        StepFailed: There is no such rebuild, or what it replaced is gone.
    """
    name = context.source.name
    published = [row for row in context.ledger.cuts(name) if row.state == "published"]
    cut, before = rebuild_to_undo(name, published)
    branch, old = branch_of(context), replaced_of(cut)
    found = {table.silver: table for table in _staged(context, cut)}
    wanted = sorted(found.keys() & choice.tables.keys())
    if not wanted:
        raise StepFailed(
            f"Source {name!r}: the rebuild of cut {cut.cut_id} replaced "
            f"{', '.join(sorted(found))}: expected tables among those that are asked for; nothing "
            "was replaced"
        )
    _refuse_gone(context, cut, [found[each] for each in wanted])
    held = held_of(before)
    staged = {each: _begun(context, found[each], cut, branch) for each in wanted}
    return Built(
        cut=cut,
        begun=cut.recorded_at,
        branch=branch,
        left=choice.left,
        tables={each: replace(table, held=held.get(each, 0)) for each, table in staged.items()},
        columns={
            each: silver.stored_columns(context.spark, each, old.get(each)) for each in wanted
        },
    )


def reopen(context: StepContext, cut: CutRow) -> None:
    """What a rebuild took out of the quarantine is in it again."""
    rows = context.ledger.quarantine(context.source.name)
    now = datetime.now(UTC)
    context.ledger.append(QUARANTINE, put_back(rows, cut.run_id, context.run_id, now))


def _staged(context: StepContext, cut: CutRow) -> tuple[StagedTable, ...]:
    row = context.ledger.apply_of(cut)
    staged = StagedCut.from_detail(row.detail) if row else None
    # What its suites refused was not published.
    found = staged.tables if staged else ()
    return tuple(table for table in found if cut.tables.get(table.silver) == table.snapshot)


def _refuse_gone(context: StepContext, cut: CutRow, wanted: list[StagedTable]) -> None:
    old = replaced_of(cut)
    for name in (each for table in wanted for each in table.own_tables):
        known = metadata.load_metadata(context.ledger.catalog, name)
        if name in old and (known is None or known.snapshot_by_id(old[name]) is None):
            raise StepFailed(
                f"Table {name!r}: snapshot {old[name]}, which the rebuild of cut {cut.cut_id} "
                f"replaced, is gone: expected it for {context.source.rebuild.undo} (rebuild.undo); "
                "the rebuild cannot be undone any more"
            )


def _begun(context: StepContext, table: StagedTable, cut: CutRow, branch: str) -> StagedTable:
    """The branch at what was replaced; a table that had no rows then has none."""
    spark, catalog = context.spark.newSession(), context.ledger.catalog
    old, cut_id = replaced_of(cut), cut.cut_id
    for name in table.own_tables:
        if name in old:
            branches.create_branch(spark, name, branch, at=old[name])
        else:
            begin_empty(spark, catalog, name, branch, {metadata.CUT_PROPERTY: cut_id})
    heads = {name: metadata.refs(catalog, name).get(branch) for name in table.own_tables}
    rows = tables.at_ref(spark, table.silver, branch)
    return replace(
        table,
        snapshot=heads[table.silver],
        state_snapshot=heads[table.state],
        history_snapshot=heads.get(table.history),
        rows=rows.where(silver.is_live(quote_ident(table.cdc))).count(),
        unresolved={},
        deletes=0,
    )
