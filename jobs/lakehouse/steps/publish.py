"""Step `publish`: a staged, validated cut becomes visible as a whole.

In: the `StagedCut` of apply and the verdicts of validate. Out: (1) the cut as pending, (2) a tag on
each changed table, (3) the cut as published (this commit is the moment of publication), (4) `main`
of each changed table fast-forwarded. A cut that a killed run left unfinished is rolled forward.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

from lakehouse.errors import MainMoved, StepFailed, Superseded
from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.cuts.lag_words import held_text
from lakehouse.plan.cuts.published import Excluded
from lakehouse.plan.cuts.publishing import pending_cut, published_snapshots, refusal
from lakehouse.plan.records import CUTS, CutRow
from lakehouse.spark import metadata
from lakehouse.spark.control.leases import Leases
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.forwarding import finish, roll_forward
from lakehouse.steps.remaking.reapply import settle
from lakehouse.steps.tidying import autocompact, tidy

# Verdicts with which a changed table's rows may be published; no verdict is none of them.
_ALLOWING = ("passed", "warning")
_ALARMS_TOLD = 3


def run(context: StepContext) -> StepOutcome:
    """Publish the cut that this run staged.

    Raises:
        StepFailed: The run staged or validated nothing.
        Superseded: Another run took the lease, or published meanwhile.
    """
    staged, verdicts, reasons = _handed_over(context)
    leases = Leases(context.ledger.catalog, context.source.name)
    announced = {row.cut_id for row in context.ledger.cuts(context.source.name)}
    if staged.cut_id in announced:
        with _held(leases, staged, context) as check:
            roll_forward(context, check)
            _settle(context, staged)
        # Whoever announced it may have died before the lease was free again.
        leases.give_back(staged.token, context.run_id)
        return StepOutcome(f"cut {staged.cut_id} was announced already", batch_id=staged.cut_id)
    with _held(leases, staged, context) as check:
        newest = context.ledger.newest_cut(context.source.name)
        if (newest.cut_id if newest else "") != staged.base_cut:
            raise Superseded(
                f"Cut {staged.cut_id!r} follows {staged.base_cut!r}, but the newest one is "
                f"{newest.cut_id if newest else ''!r}: another run published; stage again"
            )
        allowed, refused = _gate(staged, verdicts)
        _refuse_moved_main(context, allowed, staged.replaced)
        left = {
            t.silver: refusal(
                context.source, staged, t, newest, reasons.get(t.silver, "it was not judged")
            )
            for t in refused
        }
        by = (context.source.name, context.run_id)
        cut = pending_cut(by, replace(staged, tables=allowed), left, newest)
        check()
        context.ledger.append(CUTS, [cut])
        finish(context, cut, check)
        _settle(context, staged)
    leases.give_back(staged.token, context.run_id)
    tidy(context)
    autocompact(context, (name for table in allowed if table.changed for name in table.snapshots))
    return _outcome(cut, staged, allowed, left, _alarms(context))


def _settle(context: StepContext, staged: StagedCut) -> None:
    """After a replay, a rebuild or a backfill that is published, the quarantine says so."""
    newest = context.ledger.newest_cut(context.source.name)
    if (
        (context.replay or context.rebuild or context.backfill)
        and newest is not None
        and newest.cut_id == staged.cut_id
    ):
        settle(context, newest)


def _held(
    leases: Leases, staged: StagedCut, context: StepContext
) -> AbstractContextManager[Callable[[], None]]:
    return leases.held(staged.token, context.run_id, lone_step=context.lone_step)


def _handed_over(
    context: StepContext,
) -> tuple[StagedCut, Mapping[str, str], Mapping[str, str]]:
    """What apply staged, the verdicts of validate, and why tables are refused."""
    name, run_id = context.source.name, context.run_id
    applied = context.ledger.newest_run(name, "apply", run_id)
    staged = StagedCut.from_detail(applied.detail) if applied else None
    if applied is None or staged is None or applied.status != "succeeded":
        raise StepFailed(
            f"Run {run_id!r}: no staged cut: expected a succeeded apply; "
            f"do `lakehouse apply --source {name}` first"
        )
    validated = context.ledger.newest_run(name, "validate", run_id)
    if (
        validated is None
        or validated.status != "succeeded"
        or validated.started_at < applied.ended_at
    ):
        raise StepFailed(
            f"Run {run_id!r}: the staged cut {staged.cut_id} is not validated: expected a "
            f"succeeded validate after apply; do `lakehouse validate --source {name}`"
        )
    detail = json.loads(validated.detail)
    return staged, detail.get("verdicts", {}), detail.get("refused", {})


def _alarms(context: StepContext) -> list[str]:
    """What the run's suites found to be critical about topics: it keeps no table back."""
    name, run_id = context.source.name, context.run_id
    rows = (context.ledger.newest_run(name, step, run_id) for step in ("check", "validate"))
    return [text for row in rows if row for text in json.loads(row.detail).get("alarms", ())]


def _refuse_moved_main(
    context: StepContext, staged: tuple[StagedTable, ...], replaced: Mapping[str, int]
) -> None:
    """Before anything is announced: no table's `main` may have rows that its branch lacks.

    Raises:
        MainMoved: Another program wrote to one.
    """
    for table in staged:
        for name, snapshot in table.snapshots.items():
            old = replaced.get(name)
            if old is not None:
                if metadata.head_with_rows_of(context.ledger.catalog, name, old) is None:
                    raise MainMoved(
                        f"Table {name!r}: main has other rows since it was compared at snapshot "
                        f"{old}: expected none; nothing was replaced, do the rebuild again"
                    )
            elif not metadata.is_only_rewritten(context.ledger.catalog, name, snapshot):
                raise MainMoved(
                    f"Table {name!r}: main has rows of another program since snapshot {snapshot} "
                    "was staged: expected compaction at most; roll that commit back "
                    "(CALL system.rollback_to_snapshot), then do `lakehouse run --source "
                    f"{context.source.name} --from-step apply`"
                )


def _gate(
    staged: StagedCut, verdicts: Mapping[str, str]
) -> tuple[tuple[StagedTable, ...], tuple[StagedTable, ...]]:
    """The tables that may be published, and those that their suites refused."""
    refused = tuple(
        t for t in staged.tables if t.changed and verdicts.get(t.silver) not in _ALLOWING
    )
    allowed = tuple(t for t in staged.tables if t not in refused)
    return allowed, refused


def _outcome(
    cut: CutRow,
    staged: StagedCut,
    allowed: tuple[StagedTable, ...],
    refused: Mapping[str, Excluded],
    alarms: list[str],
) -> StepOutcome:
    changed = sum(table.changed for table in allowed)
    excluded = json.loads(cut.excluded)
    tail = f"; {held_text(cut.held_keys)}" if cut.held_keys else ""
    behind = sorted(excluded.keys() - refused.keys())
    tail += f"; excluded: {', '.join(behind)}" if behind else ""
    tail += "".join(f"; {name} is refused: {e.reason}" for name, e in sorted(refused.items()))
    tail += f"; critical: {'; '.join(alarms[:_ALARMS_TOLD])}" if alarms else ""
    tail += f"; and {len(alarms) - _ALARMS_TOLD} more" if len(alarms) > _ALARMS_TOLD else ""
    return StepOutcome(
        f"cut {cut.cut_id} published: {changed} tables changed, "
        f"{staged.transactions} whole transactions{tail}",
        {
            "tables_changed": changed,
            "tables_refused": len(refused),
            "held_keys": cut.held_keys,
            "alarms": len(alarms),
        },
        {
            "cut_id": cut.cut_id,
            "excluded": excluded,
            "tables": published_snapshots(cut, staged, allowed),
        },
        batch_id=cut.cut_id,
        exit_code=2 if refused or alarms else int(bool(excluded or cut.held_keys)),
    )
