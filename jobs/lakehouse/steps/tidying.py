"""A source's rows in the control tables, merged once they lie in many files.

Each step of each run leaves a row in a file of its own, and every process reads them: between two
maintenances there would be thousands.
"""

from __future__ import annotations

import structlog

from lakehouse.errors import first_line
from lakehouse.plan.records import CONTROL_TABLES
from lakehouse.spark.rewriting.upkeep import compact_control
from lakehouse.steps.context import StepContext

# Some twenty runs; a file takes a millisecond of each process, merging so many a second.
MOST_FILES = 100
_LOG = structlog.get_logger()


def tidy(context: StepContext, most: int = MOST_FILES) -> tuple[str, ...]:
    """Merge the source's files of each control table that has more than so many.

    Only tables of which this process has read the source's rows are looked at. No failure is one of
    the run: the next one tries again.

    Returns:
        The tables whose files were merged.
    """
    name, ledger, done = context.source.name, context.ledger, []
    for control in CONTROL_TABLES:
        if (files := ledger.files(control, name)) <= most:
            continue
        try:
            compact_control(context.spark, ledger.catalog, control, name)
        except Exception as failure:  # noqa: BLE001 - what the run published is published
            _LOG.warning("files not merged", table=control.name, reason=first_line(failure))
        else:
            _LOG.info("files merged", table=control.name, files=files)
            done.append(control.name)
    return tuple(done)
