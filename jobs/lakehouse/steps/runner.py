"""Runs a step and leaves its row in `quality.runs`, whatever happens.

A step is a function of one signature. Its failure is a row too, so that the run's other tasks,
the report and the next run see it. Where a run ends, at any step, its report is written.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path

import structlog

from lakehouse.errors import LakehouseError, Superseded, first_line
from lakehouse.failpoints import reach, within
from lakehouse.plan.records import RUNS, RunRow, Step
from lakehouse.plan.store_faults import store_fault
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.lagging import with_lag
from lakehouse.steps.reporting import show_end

StepFunction = Callable[[StepContext], StepOutcome]
_LOG = structlog.get_logger()


def step_function(step: Step) -> StepFunction:
    """The function of a step, imported when it is needed."""
    function: StepFunction = import_module(f"lakehouse.steps.{step}").run
    return function


def execute(step: Step, context: StepContext) -> StepOutcome:
    """Run one step and record it; see `run_recorded`."""
    return run_recorded(step, context, step_function(step))


def run_recorded(step: Step, context: StepContext, function: StepFunction) -> StepOutcome:
    """Run a function as a step and record it.

    Args:
        step: What its row in `quality.runs` is called.
        context: The run.
        function: What is done.

    Returns:
        The outcome; one with status `failed` or `superseded` where the step raised an error of
        the project's own, or the store or the catalog failed it. Where these take no row either,
        there is none.

    Raises:
        Exception: Any other error, after its row is written.
    """
    with within(step):
        try:
            return _run_recorded(step, context, function)
        except Exception as error:
            if (failed := _failed_by_store(step, context, error)) is None:
                raise
            return failed


def _run_recorded(step: Step, context: StepContext, function: StepFunction) -> StepOutcome:
    earlier = [row for row in context.ledger.runs(context.source.name) if row.step == step]
    attempt = 1 + sum(row.run_id == context.run_id for row in earlier)
    context = dataclasses.replace(context, attempt=attempt)
    started = datetime.now(UTC)
    _LOG.info("step started", step=step, source=context.source.name, run_id=context.run_id)
    try:
        outcome = function(context)
    except LakehouseError as error:
        status = "superseded" if isinstance(error, Superseded) else "failed"
        outcome = StepOutcome(str(error), status=status, exit_code=error.exit_code)  # type: ignore[arg-type]
    except BaseException as error:
        if (failed := _failed_by_store(step, context, error)) is None:
            failed = StepOutcome(first_line(error), status="failed")
            _record(step, context, started, failed)
            show_end(step, context, failed)
            raise
        outcome = failed
    outcome = with_lag(step, context, outcome)
    _record(step, context, started, outcome)
    show_end(step, context, outcome)
    seconds = (datetime.now(UTC) - started).total_seconds()
    _LOG.info("step ended", step=step, status=outcome.status, seconds=round(seconds, 2))
    return outcome


def _failed_by_store(step: Step, context: StepContext, error: BaseException) -> StepOutcome | None:
    """How a step ends of which a person can mend the cause; None for any other error."""
    if isinstance(error, LakehouseError):
        # Raised where the row was to be written.
        return StepOutcome(str(error), status="failed", exit_code=error.exit_code)
    fault = store_fault(error, context.source.name)
    if fault is None:
        return None
    _LOG.error("step failed", step=step, reason=first_line(error))
    return StepOutcome(f"Source {context.source.name!r}: {fault}", status="failed", exit_code=1)


def _record(step: Step, context: StepContext, started: datetime, outcome: StepOutcome) -> None:
    row = RunRow(
        source=context.source.name,
        run_id=context.run_id,
        attempt=context.attempt,
        step=step,
        status=outcome.status,
        started_at=started,
        ended_at=datetime.now(UTC),
        batch_id=outcome.batch_id,
        code_hash=code_hash(),
        config_hash=config_hash(context),
        counts=json.dumps(outcome.counts, sort_keys=True),
        detail=json.dumps({"run_started": context.run_started.isoformat(), **outcome.detail}),
        message=outcome.message,
    )
    context.ledger.append(RUNS, [row])
    reach("after_mirror")


@cache
def code_hash() -> str:
    """Names the version of the library that ran: a hash over its source files."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def config_hash(context: StepContext) -> str:
    """Names the configuration that the run had."""
    return hashlib.sha256(context.source.for_jobs().encode()).hexdigest()[:16]
