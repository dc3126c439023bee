"""The pages of a run, written where it ends: at its last step, or at the one that failed.

They are made from the rows that the steps left. A page that cannot be written fails no step: what
counts is in the tables, and `lakehouse report` writes it again. Maintenance has no page.
"""

from __future__ import annotations

import structlog

from lakehouse.plan.records import STEPS, Step
from lakehouse.quality.pages.writing import write_pages
from lakehouse.steps.context import StepContext, StepOutcome

_LOG = structlog.get_logger()


def show_end(step: Step, context: StepContext, outcome: StepOutcome) -> None:
    """Write the run's report and the source's page, if the end of a step is one of them.

    Args:
        step: The step that ended; its row is recorded.
        context: The run.
        outcome: How the step ended.
    """
    if step not in STEPS:
        return
    is_over = outcome.status != "succeeded" or outcome.ends_run or step == STEPS[-1]
    # A person may look at what was validated before another process publishes it.
    if not is_over and not (step == "validate" and context.lone_step):
        return
    home, source = context.settings.home, context.source
    try:
        write_pages(home, context.ledger, source.name, source.connector, context.run_id)
    except Exception as failure:  # noqa: BLE001 - a page is no part of what a run promises
        # No traceback: its variables would show the settings.
        reason = f"{type(failure).__name__}: {failure}"
        _LOG.error("pages not written", source=source.name, reason=reason)
