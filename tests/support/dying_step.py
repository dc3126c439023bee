"""A whole run in a process that kills itself right after one write to a control table.

    python -m tests.support.dying_step HOME SOURCE ARCHIVE TABLE N

The process gets SIGKILL once write N (from 1) to TABLE is committed; its run id is `killed`.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.plan.records import STEPS
from lakehouse.spark.session import spark_session
from lakehouse.steps.runner import execute
from tests.support.ending_ledger import EndingLedger
from tests.support.runs import open_runs


def main(home: str, name: str, archive: str, table: str, nth: str) -> None:
    settings = Settings.from_environment({"LAKEHOUSE_HOME": home})
    os.environ.update(spark_environment(settings.home))
    runs = open_runs(spark_session("dying", settings), settings, Path(home), name)
    ledger = EndingLedger(settings, table, int(nth), lambda: os.kill(os.getpid(), signal.SIGKILL))
    context = replace(runs.context(Path(archive), "killed"), ledger=ledger)
    for step in STEPS:
        execute(step, context)


if __name__ == "__main__":
    main(*sys.argv[1:])
