"""Rebuild: silver tables again from bronze, compared with the running ones, and put in their place.

In: bronze up to the newest cut. Out: a staged cut of the tables that differ, which `validate`
judges and `publish` puts in the place of `main` in one commit for each table. The tables are built
while runs go on; under the lease they catch up with what was published meanwhile. A table that is
equal stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import cast

from lakehouse.plan.batches.conservation import to_json_counts
from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.cuts.handover import StagedTable
from lakehouse.plan.remaking.differences import Difference
from lakehouse.plan.remaking.rebuilding import Rebuild, choose
from lakehouse.plan.remaking.replay import replay_laws
from lakehouse.spark import metadata, tables
from lakehouse.spark.rewriting.comparing import compare_or_replace
from lakehouse.spark.session import tune
from lakehouse.steps.context import Json, StepContext, StepOutcome
from lakehouse.steps.quarantine import quarantine
from lakehouse.steps.remaking.reapply import laws_before
from lakehouse.steps.remaking.rebuilding import build, catch_up, without_removed
from lakehouse.steps.remaking.remaking import Built
from lakehouse.steps.remaking.replacement import became, drop_branches, fates_of, replacing_cut
from lakehouse.steps.remaking.undoing import reopen, take_back
from lakehouse.steps.together import together
from lakehouse.steps.turn import Turn, in_turn, needed


def rebuild(context: StepContext, asked: Rebuild) -> StepOutcome:
    """Build tables again, and stage those that differ.

    Raises:
        StepFailed: Bronze cannot give the tables, or they changed in a way that is not caught up.
        Superseded: Another run held the lease all the time.
    """
    name = context.source.name
    _finish_announced(context)
    cut = needed(name, context.ledger.newest_cut(name))
    choice = choose(cut, asked, context.source.connector)
    try:
        made = take_back(context, choice) if asked.undo else build(context, asked, cut, choice)

        def work(turn: Turn) -> StepOutcome:
            outcome = _staged(context, made, turn.token, turn.check)
            if asked.undo and not outcome.ends_run:
                reopen(context, made.cut)
            return outcome

        return in_turn(context, work, between_steps=True)
    except Exception:
        drop_branches(context, choice.tables)
        raise


def _finish_announced(context: StepContext) -> None:
    """Publish what a killed publish announced: behind what is built it would refuse the rebuild."""
    if context.ledger.pending_cut(context.source.name) is not None:
        in_turn(context, lambda _: StepOutcome("", ends_run=True), between_steps=True)


def _staged(
    context: StepContext, built: Built, token: int, check: Callable[[], None]
) -> StepOutcome:
    newest = context.ledger.newest_cut(context.source.name) or built.cut
    built = catch_up(context, built, newest, token, check)
    built = without_removed(context, built, newest, token, check)
    found = _compared(context, built)
    differing = {
        # Validation judges all rows: of a table that is made again every one is new.
        name: replace(table, upserts=found[name][1].after)
        for name, table in built.tables.items()
        if any(found[each][1].count for each in table.snapshots)
    }
    drop_branches(context, built.tables.keys() - differing.keys())
    told = [found[each][1] for table in built.tables.values() for each in table.snapshots]
    detail: dict[str, Json] = {
        "rebuild": [cast("Json", asdict(each)) for each in told],
        "left": dict(built.left),
    }
    exit_code = 1 if built.left else 0
    is_undone = context.rebuild is not None and context.rebuild.undo
    did = "put back as before their rebuild" if is_undone else "built again"
    what = f"{len(built.tables)} tables {did} up to cut {newest.cut_id}"
    sentence = f"{what}: {_told(built, differing, told)}"
    if not differing:
        return StepOutcome(sentence, detail=detail, exit_code=exit_code, ends_run=True)
    for part in built.parts:
        quarantine(part.work.context, part.work.batch, part.staged, part.plans)
    fates = fates_of(context, built, newest)
    cut = replacing_cut(built, newest, token, differing, found)
    counts = to_json_counts(replay_laws(laws_before(context, newest), became(fates)))
    return StepOutcome(
        sentence,
        cast("Mapping[str, Json]", counts),
        cast("Mapping[str, Json]", {**cut.to_detail(), **detail, "fates": fates}),
        batch_id=cut.cut_id,
        exit_code=exit_code,
    )


def _compared(context: StepContext, built: Built) -> dict[str, tuple[int | None, Difference]]:
    """Iceberg table → the head of `main`, and how it differs from what is built."""
    catalog = context.ledger.catalog
    pairs = [(table, name) for table in built.tables.values() for name in table.snapshots]

    def one(pair: tuple[StagedTable, str]) -> tuple[int | None, Difference]:
        table, name = pair
        session = context.spark.newSession()
        head = metadata.head(catalog, name)
        there = metadata.row_count(catalog, name, head.snapshot_id) if head else None
        tune(session, 2 * max(table.rows, there or 0))
        before, after = (tables.at_ref(session, name, ref) for ref in (MAIN, built.branch))
        key = table.key if name == table.silver else ()
        return head.snapshot_id if head else None, compare_or_replace(name, before, after, key)

    return {name: each for (_, name), each in zip(pairs, together(one, pairs), strict=True)}


def _told(built: Built, differing: Mapping[str, StagedTable], told: list[Difference]) -> str:
    equal = len(built.tables) - len(differing)
    parts = [f"{len(differing)} differ, {equal} are equal and stay as they are"]
    parts += [each.sentence for each in told if each.count]
    parts += [f"{name} stays as it is: {reason}" for name, reason in sorted(built.left.items())]
    return "; ".join(parts)
