"""The pages of a run, written where it ends: at its last step, or at the one that failed.

They are made from the rows that the steps left. A page that cannot be written fails no step: what
counts is in the tables, and `lakehouse report` writes it again.
"""

from __future__ import annotations

import structlog

from lakehouse.plan.records import STEPS, Step
from lakehouse.quality.pages.writing import write_run_report, write_source_page
from lakehouse.quality.report_files import reports_folder
from lakehouse.steps.context import StepContext, StepOutcome

_LOG = structlog.get_logger()


def write_pages(step: Step, context: StepContext, outcome: StepOutcome) -> None:
    """Write what the end of a step changes: the run's report, at its end the source's page too.

    Args:
        step: The step that ended; its row is recorded.
        context: The run.
        outcome: How the step ended.
    """
    is_over = outcome.status != "succeeded" or outcome.ends_run or step == STEPS[-1]
    # Between the two a person may look at what was validated, before it is published.
    if not is_over and step != "validate":
        return
    home, source = context.settings.home, context.source
    try:
        write_run_report(home, context.ledger, source.name, context.run_id)
        # The report links to it.
        if is_over or not (reports_folder(home, source.name) / "index.html").exists():
            write_source_page(home, context.ledger, source.name, source.connector)
    except Exception as failure:  # noqa: BLE001 - a page is no part of what a run promises
        # No traceback: its variables would show the settings.
        reason = f"{type(failure).__name__}: {failure}"
        _LOG.error("pages not written", source=source.name, reason=reason)
