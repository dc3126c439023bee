"""The step `publish` of a run in a process that kills itself right after one of its commits.

    python -m tests.support.dying_publish HOME SOURCE RUN N

The process gets SIGKILL once commit N (from 1) is made; with fewer commits it ends by itself.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

from pyspark.sql import SparkSession

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.spark.session import spark_session
from lakehouse.steps.runner import execute
from tests.support.fuse import Fuse, FusedLedger, FusedSession
from tests.support.runs import open_runs


def main(home: str, name: str, run_id: str, nth: str) -> None:
    settings = Settings.from_environment({"LAKEHOUSE_HOME": home})
    os.environ.update(spark_environment(settings.home))
    runs = open_runs(spark_session("dying", settings), settings, Path(home), name)
    fuse = Fuse(int(nth), lambda: os.kill(os.getpid(), signal.SIGKILL))
    session = cast("SparkSession", FusedSession(runs.spark, fuse))
    context = replace(runs.context(run_id=run_id), spark=session, lone_step=True)
    execute("publish", replace(context, ledger=FusedLedger(settings, fuse)))


if __name__ == "__main__":
    main(*sys.argv[1:])
