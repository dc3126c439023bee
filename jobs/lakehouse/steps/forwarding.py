"""An announced cut becomes visible: tags, the published row, and `main` of every table.

In: a row of `quality.cuts`. Each part may have happened already, so that the next run finishes
what a killed one has left (`roll_forward`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime

from lakehouse.errors import MainMoved
from lakehouse.plan.batches.tables import ENDINGS, HISTORY_ENDING, STATE_ENDING
from lakehouse.plan.cuts.published import renames_of, replaced_of
from lakehouse.plan.records import CUTS, CutRow
from lakehouse.plan.remaking.rebuilding import REBUILDING, UNDO
from lakehouse.spark import altering, branches, metadata, tables
from lakehouse.spark.rewriting.renamed import under_new_names
from lakehouse.spark.rewriting.replacing import replace_main
from lakehouse.spark.staging.properties import rename_columns
from lakehouse.steps.context import StepContext
from lakehouse.steps.together import together

# How the branches of ordinary runs begin.
STAGING = "staging_"


def roll_forward(context: StepContext, check: Callable[[], None]) -> None:
    """Finish what a killed publish left: tags, the published row, and every `main`."""
    pending = context.ledger.pending_cut(context.source.name)
    if pending is not None:
        finish(context, pending, check)
        return
    newest = context.ledger.newest_cut(context.source.name)
    if newest is not None and not _is_finished(context, newest):
        _forward_all(context, newest, check)


def _is_finished(context: StepContext, cut: CutRow) -> bool:
    """Whether the run that announced the cut came to its end; then every `main` has it."""
    run = context.ledger.newest_run(cut.source, "publish", cut.run_id)
    return run is not None and run.status == "succeeded" and run.batch_id == cut.cut_id


def finish(context: StepContext, cut: CutRow, check: Callable[[], None]) -> None:
    """Steps 2 to 4, each of which may have happened already."""
    _move_tables(context, cut, check)
    _rename_columns(context, cut, check)
    cut = replace(cut, tables=_under_new_names(context, cut, check))
    changed = _not_at(context, cut)
    together(lambda table: _tag_replaced(context, cut, table), changed)
    together(lambda table: _tag(context, cut, table), _read_by_people(cut, changed))
    check()
    context.ledger.append(CUTS, [replace(cut, state="published", recorded_at=datetime.now(UTC))])
    together(lambda table: _forward(context, cut, table, check), changed)


def _forward_all(context: StepContext, cut: CutRow, check: Callable[[], None]) -> None:
    _move_tables(context, cut, check)
    together(lambda table: _forward(context, cut, table, check), _not_at(context, cut))


def _move_tables(context: StepContext, cut: CutRow, check: Callable[[], None]) -> None:
    """A table makes room for the next one of its name; each move may have happened already."""
    for was, name in json.loads(cut.moves or "[]"):
        for ending in ENDINGS:
            check()
            if tables.exists(context.spark, was + ending) and not tables.exists(
                context.spark, name + ending
            ):
                altering.rename_table(context.spark, was + ending, name + ending)


def _rename_columns(context: StepContext, cut: CutRow, check: Callable[[], None]) -> None:
    """All branches of a table share its schema; the intent to publish is on record already."""
    for silver, renaming in renames_of(cut.renames).items():
        for table in (silver, silver + HISTORY_ENDING):
            check()
            if tables.exists(context.spark, table):
                rename_columns(
                    context.spark,
                    context.ledger.catalog,
                    table,
                    renaming.columns,
                    renaming.position,
                )
                altering.drop_columns(context.spark, table, renaming.dropped)


def _under_new_names(
    context: StepContext, cut: CutRow, check: Callable[[], None]
) -> dict[str, int]:
    """The cut's snapshots; of a table whose columns were renamed or went, one that shows it."""
    found = dict(cut.tables)
    for silver in renames_of(cut.renames):
        for table in (silver, silver + HISTORY_ENDING):
            if table in found:
                check()
                found[table] = under_new_names(
                    context.spark, context.ledger.catalog, table, found[table], cut.cut_id
                )
    return found


def _not_at(context: StepContext, cut: CutRow) -> list[str]:
    """Tables whose `main` has not the cut's snapshot in its history, or what it replaces still."""
    catalog, replaced = context.ledger.catalog, replaced_of(cut)
    return [
        name
        for name, snapshot in sorted(cut.tables.items())
        if (name in replaced and metadata.head_with_rows_of(catalog, name, replaced[name]))
        or not metadata.is_in_main(catalog, name, snapshot)
    ]


def _tag_replaced(context: StepContext, cut: CutRow, table: str) -> None:
    """What a rebuild replaces stays for as long as it can be undone."""
    old = replaced_of(cut).get(table)
    if old is not None:
        # Without Iceberg's own retention, which counts from when the old snapshot was made.
        branches.create_tag(context.spark, table, f"{UNDO}{cut.cut_id}", old)


def _read_by_people(cut: CutRow, tables: list[str]) -> list[str]:
    """Some tables without those of state, which get their tag when `main` moves."""
    states = {name + STATE_ENDING for name in cut.tables}
    return [name for name in tables if name not in states]


def _tag(context: StepContext, cut: CutRow, table: str) -> None:
    branches.create_tag(context.spark, table, _tag_of(cut), cut.tables[table])


def _tag_of(cut: CutRow) -> str:
    return f"cut_{cut.cut_id}"


def _forward(context: StepContext, cut: CutRow, table: str, check: Callable[[], None]) -> None:
    """Move `main` to the cut's snapshot; the tag names it, so a lost branch does no harm."""
    check()
    catalog, old = context.ledger.catalog, replaced_of(cut).get(table)
    over = [ref for ref in metadata.refs(catalog, table) if _is_over(ref, cut)]
    if old is not None:
        # A rebuilt table takes the place of the old one, whose files may have been rewritten.
        old = metadata.head_with_rows_of(catalog, table, old) or old
        _replace(context, cut, table, old, over)
        return
    try:
        snapshot = cut.tables[table]
        branches.publish_tag(context.spark, table, _tag_of(cut), snapshot, over)
    except MainMoved:
        # Where another run took over, it has published this cut, and its own behind it.
        check()
        head = metadata.head(catalog, table)
        if head is None or not metadata.is_only_rewritten(catalog, table, snapshot):
            raise
        # Only from what was judged: another run may publish in this moment.
        _replace(context, cut, table, head.snapshot_id, over)


def _replace(context: StepContext, cut: CutRow, table: str, old: int, over: Iterable[str]) -> None:
    """A compaction that came between is given up: its rows are those from before the cut."""
    _tag(context, cut, table)
    replace_main(context.spark, table, old, cut.tables[table])
    for branch in over:
        branches.drop_branch(context.spark, table, branch)


def _is_over(ref: str, cut: CutRow) -> bool:
    """Whether a branch was for this cut or one before; who took the lease since has its own."""
    if ref.startswith(STAGING):
        token = ref.rpartition("_")[2]
        return token.isdigit() and int(token) <= cut.token
    return bool(cut.replaced) and ref.startswith(REBUILDING)
