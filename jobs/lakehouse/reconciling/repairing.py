"""A repair, done: signals are sent for rows that are read again, rows that are gone go from silver.

The rules are in `lakehouse.plan.reconciling.repair`. Rows that are read again come with the next
runs of ingest; whether all is well then, the next comparison says.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from lakehouse.errors import LakehouseError
from lakehouse.plan.reconciling.outcome import Outcome
from lakehouse.plan.reconciling.repair import Removal, Rereading, repair_of
from lakehouse.plan.records import Step
from lakehouse.plan.signals.request import Action, Request
from lakehouse.signalling.requests import send
from lakehouse.steps.context import StepContext
from lakehouse.steps.runner import execute

_STEPS: tuple[Step, ...] = ("apply", "validate", "publish")
PERSON = "lakehouse reconcile"


def repair(context: StepContext, found: Outcome) -> tuple[str, ...]:
    """Repair what was found.

    Args:
        context: The run of the comparison.
        found: What it found.

    Returns:
        What was done and what was not, one sentence each.
    """
    plans = [repair_of(table.table, table.found) for table in found.tables]
    told = [sentence for plan in plans for sentence in plan.refused]
    told += _removed(context, tuple(plan.removal for plan in plans if plan.removal))
    for plan in plans:
        told += _asked(context, plan.rereadings)
    return tuple(told)


def _removed(context: StepContext, removals: tuple[Removal, ...]) -> list[str]:
    """Let rows go in a cut of their own."""
    if not removals:
        return []
    run = replace(
        context,
        run_id=context.run_id.replace("full__", "", 1) + "_repair",
        run_started=datetime.now(UTC),
        full=False,
        removals=removals,
    )
    told = []
    for step in _STEPS:
        outcome = execute(step, run)
        told.append(f"{step}: {outcome.status}: {outcome.message}")
        if outcome.status != "succeeded" or outcome.ends_run:
            break
    return told


def _asked(context: StepContext, rereadings: Iterable[Rereading]) -> list[str]:
    """Ask the connector for rows."""
    told = []
    for each in rereadings:
        request = Request(Action.SNAPSHOT, (each.table,), conditions=each.conditions, person=PERSON)
        try:
            sent = send(request, context.source, context.settings, None, str(uuid.uuid4()))
        except LakehouseError as refused:
            told.append(f"{each.title}: {each.keys} keys are not read again: {refused}")
        else:
            keys = f"{each.title}: {each.keys} keys are read again"
            told.append(f"{keys}, and published by a run: {sent.told}")
    return told
