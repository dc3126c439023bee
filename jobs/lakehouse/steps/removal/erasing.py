"""Erasure: the rows of some keys, gone from bronze, silver, its history, snapshots and reports.

In: the keys of rows that the source has deleted. Out: a staged cut that `validate` judges and
`publish` shows as any other one; once it is published, tables without the snapshots before it, and
control tables and reports that name the keys no more (`forget`). Each part may have happened
already: what a killed erasure left, the same command finishes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import cast

from lakehouse.config import mask_secret
from lakehouse.errors import MainMoved, StepFailed
from lakehouse.names import quote_ident
from lakehouse.plan.batches.conservation import to_json_counts
from lakehouse.plan.batches.tables import HISTORY_ENDING, STATE_ENDING, TablePlan
from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.cuts.published import held_of, identities_of
from lakehouse.plan.cuts.same_offsets import cut_upon
from lakehouse.plan.records import MAINTAIN, CutRow
from lakehouse.plan.remaking.erasing import Erasure, key_values, refuse
from lakehouse.plan.remaking.rebuilding import Rebuild, choose
from lakehouse.plan.remaking.replay import replay_laws
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.once import once
from lakehouse.spark.rewriting.erased_messages import (
    Messages,
    erase_messages,
    find_messages,
    keys_frame,
)
from lakehouse.spark.rewriting.erased_rows import Erasing, erase_rows, has_traces, live_rows
from lakehouse.spark.rewriting.healing import held_keys
from lakehouse.spark.staging.silver import cdc_of, is_live
from lakehouse.spark.tables import at_ref, full_name
from lakehouse.steps.batches.applying import Applying, commit_summary, staging_branch
from lakehouse.steps.context import Json, StepContext, StepOutcome
from lakehouse.steps.remaking.reapply import laws_before
from lakehouse.steps.remaking.remaking import begin, fitting
from lakehouse.steps.turn import Turn, in_turn, needed

_TRIES = 5
Fence = tuple[int, Callable[[], None]]


def erase(context: StepContext, asked: Erasure) -> StepOutcome:
    """Erase messages in bronze, and stage silver without the rows.

    Raises:
        StepFailed: The rows are live, or have messages that are not applied, or the table is not
            one whose rows have a key and can be made again.
        Superseded: Another run held the lease all the time.
    """
    return in_turn(context, lambda turn: _erased(context, asked, turn), between_steps=True)


def _erased(context: StepContext, asked: Erasure, turn: Turn) -> StepOutcome:
    cut, fence = needed(context.source.name, turn.cut), (turn.token, turn.check)
    opened, plan = _opened(context, asked, cut, fence)
    work = _work(context, asked, plan, cut, fence)
    found = _messages(opened, plan, work)
    refuse(asked.table, live=live_rows(work), waiting=found.waiting)
    if not (found.count or has_traces(work) or _is_unfinished(context)):
        raise StepFailed(
            f"Table {asked.table!r}: bronze and silver have nothing of these keys: expected "
            "keys of rows that the source has deleted; nothing was changed"
        )
    if found.count:
        _erase_messages(opened, plan, work, found)
    staged = _staged(context, work, cut, turn.token, erase_rows(work))
    laws = to_json_counts(replay_laws(laws_before(context, cut), {}))
    return StepOutcome(
        _sentence(asked, found),
        cast("Mapping[str, Json]", laws),
        cast("Mapping[str, Json]", {**staged.to_detail(), "erased": _told(asked, found)}),
        batch_id=staged.cut_id,
    )


def _opened(
    context: StepContext, asked: Erasure, cut: CutRow, fence: Fence
) -> tuple[Applying, TablePlan]:
    """All that bronze has of the table up to the cut, and how it is read."""
    choice = choose(cut, Rebuild((asked.table,)), context.source.connector)
    opened = begin(context, cut, choice, fence)
    choice, plans = fitting(opened, choice)
    if not plans or plans[0].is_bag:
        why = "; ".join(choice.left.values()) or "its rows have no key"
        raise StepFailed(
            f"Table {asked.table!r}: {why}: expected a table whose rows have a key and that could "
            "be rebuilt; nothing was erased"
        )
    return opened, plans[0]


def _work(
    context: StepContext, asked: Erasure, plan: TablePlan, cut: CutRow, fence: Fence
) -> Erasing:
    spark, (token, check) = context.spark.newSession(), fence
    values = [key_values(text, plan.key) for text in asked.keys]
    keys = keys_frame(spark, values, [plan.columns[name] for name in plan.key])
    return Erasing(
        spark,
        context.ledger.catalog,
        plan.silver,
        plan.key,
        once(keys, eager=True),
        staging_branch(context, token),
        commit_summary(context, token, f"{token:08d}", cut.offsets),
        check,
        asked.forget_key,
    )


def _is_unfinished(context: StepContext) -> bool:
    """Whether an erasure was killed before it had forgotten what was there."""
    runs = context.ledger.runs(context.source.name)
    begun = {r.run_id for r in runs if r.step == "apply" and "erased" in json.loads(r.detail)}
    return bool(begun - {r.run_id for r in runs if r.step == MAINTAIN and r.status == "succeeded"})


def _messages(opened: Applying, plan: TablePlan, work: Erasing) -> Messages:
    context = opened.context
    messages = Bronze(context.source.name, context.ledger).messages(context.spark)
    keyed = (plan, work.keys, mask_secret(context.source))
    return find_messages(messages, opened.batch.envelopes, opened.connector, keyed)


def _erase_messages(opened: Applying, plan: TablePlan, work: Erasing, found: Messages) -> None:
    """Landings go on meanwhile: where one comes first, it is tried again."""
    context = opened.context
    bronze = Bronze(context.source.name, context.ledger)
    for number in range(1, _TRIES + 1):
        try:
            erase_messages(context.spark, bronze, found, context.run_id, work.check)
        except MainMoved:
            if number == _TRIES:
                raise
            # What has landed since may be of the same keys.
            again = _messages(opened, plan, work)
            refuse(plan.silver, live=0, waiting=again.waiting)
        else:
            return


def _staged(
    context: StepContext, work: Erasing, cut: CutRow, token: int, heads: Mapping[str, int]
) -> StagedCut:
    rows = at_ref(work.spark, work.silver, work.branch)
    cdc = cdc_of(context.spark.table(full_name(work.silver)).schema)
    state, history = work.silver + STATE_ENDING, work.silver + HISTORY_ENDING
    held = held_of(cut).get(work.silver, 0)
    table = StagedTable(
        identity=identities_of(cut)[work.silver],
        silver=work.silver,
        state=state,
        changed=True,
        snapshot=heads[work.silver],
        state_snapshot=heads.get(state, cut.tables.get(state)),
        key=work.key,
        cdc=cdc,
        rows=rows.where(is_live(quote_ident(cdc))).count(),
        upserts=0,
        deletes=0,
        truncated=False,
        history=history if history in heads else "",
        history_snapshot=heads.get(history),
        held=held_keys(work.spark, state, work.branch) if state in heads else held,
    )
    return cut_upon(cut, work.branch, token, [table])


def _told(asked: Erasure, found: Messages) -> dict[str, Json]:
    """What is kept of an erasure: who asked for it and how much it was, no key."""
    return {
        "table": asked.table,
        "person": asked.person,
        "keys": len(asked.keys),
        "messages": found.count,
        "forget_key": asked.forget_key,
    }


def _sentence(asked: Erasure, found: Messages) -> str:
    moved = (
        f"; {found.moves} of them change a key: erase the row's other keys too, if they are the "
        "same subject's"
        if found.moves
        else ""
    )
    return (
        f"{asked.table}: {len(asked.keys)} keys erased by {asked.person}: {found.count} messages "
        f"in bronze keep nothing but their place{moved}"
    )
