"""A run in a process of its own, which a failpoint or the catalog's driver may end with SIGKILL.

    python -m tests.support.dying_run HOME SOURCE RUN_ID WORK [ARCHIVE]

WORK is `run`, one of its steps, or `maintain` (as a month later), `rebuild`. `LAKEHOUSE_FAILPOINT`
is the product's; `CATALOG_KILL=before:7` ends the process right before write 7 of the catalog
through Java is made, `after:7` right behind it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.plan.records import MAINTAIN, STEPS, Step
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.spark.session import spark_session
from lakehouse.steps.context import StepContext
from lakehouse.steps.maintain import maintain
from lakehouse.steps.runner import execute, run_recorded
from tests.support.lost_answers import LostAnswers
from tests.support.runs import open_runs

CATALOG_KILL = "CATALOG_KILL"
# Cuts and snapshots of today are old by then, and files of none of them are leftovers.
LATER = timedelta(days=31)
AGAIN: tuple[Step, ...] = ("apply", "validate", "publish")


def main(home: str, name: str, run_id: str, work: str, archive: str = "") -> None:
    settings = Settings.from_environment({"LAKEHOUSE_HOME": home})
    os.environ.update(spark_environment(settings.home))
    spark = spark_session("dying", settings)
    if kill := os.environ.get(CATALOG_KILL):
        side, _, nth = kill.partition(":")
        LostAnswers(spark).kill_at(int(nth), before=side == "before")
        spark = spark.newSession()
    runs = open_runs(spark, settings, Path(home), name)
    do(work, runs.context(Path(archive) if archive else None, run_id), LATER)


def do(work: str, context: StepContext, later: timedelta = timedelta(0)) -> None:
    """Do a piece of work, whatever its steps end with.

    Args:
        work: `run`, one of its steps, `maintain` or `rebuild`.
        context: The run.
        later: How much later than now `maintain` takes it to be.
    """
    if work == "run":
        through(STEPS, context)
    elif work == "maintain":
        run_recorded(MAINTAIN, context, partial(maintain, now=datetime.now(UTC) + later))
    elif work == "rebuild":
        through(AGAIN, replace(context, rebuild=Rebuild()))
    else:
        execute(next(step for step in STEPS if step == work), replace(context, lone_step=True))


def through(steps: tuple[Step, ...], context: StepContext) -> None:
    """Do steps until one fails or leaves nothing to the next."""
    for step in steps:
        outcome = execute(step, context)
        if outcome.status != "succeeded" or outcome.ends_run:
            break


if __name__ == "__main__":
    main(*sys.argv[1:])
