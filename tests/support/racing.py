"""Processes that work on one source at the same time, told what to do line by line.

    python -m tests.support.racing HOME SOURCE      # reads JSON lines, answers each with DONE

Each has a Spark application of its own, as two runs of Airflow have, and lives for many races.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.plan.remaking.backfilling import Backfill, Interval
from lakehouse.spark.commits import FAILURES
from lakehouse.spark.session import spark_session
from lakehouse.spark.tables import full_name
from lakehouse.steps.context import StepContext
from tests.support.campaign import tables_of
from tests.support.dying_run import AGAIN, do, through
from tests.support.runs import Runs, open_runs

_ROOT = Path(__file__).resolve().parents[2]
_DONE = "DONE"
# The bank's transactions are of one day.
_DAY = datetime.fromtimestamp(1_700_000_000, UTC)
INTERVAL = Interval(_DAY - timedelta(days=1), _DAY + timedelta(days=1))


class Racer:
    """Another process that does runs of a source."""

    def __init__(self, home: Path, source: str, log: Path) -> None:
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.racing", str(home), source],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self.log = log

    def start(self, work: str, run_id: str, archive: Path) -> None:
        """Begin a piece of work (`dying_run.do`, `backfill`, `upkeep`)."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([work, run_id, str(archive)]) + "\n")
        self._process.stdin.flush()

    def wait(self) -> None:
        """Until it is done, whatever became of it."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.strip() == _DONE:
                return
        raise AssertionError(self.log.read_text(encoding="utf-8")[-4000:])

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._log.close()


@contextmanager
def racers(runs: Runs, count: int) -> Iterator[list[Racer]]:
    """So many processes that are ready to race."""
    home, name = runs.settings.home, runs.source.name
    begun = [Racer(home, name, runs.folder / f"racer_{number}.log") for number in range(count)]
    try:
        for each in begun:
            each.wait()
        yield begun
    finally:
        for each in begun:
            each.close()


def main(home: str, name: str) -> None:
    settings = Settings.from_environment({"LAKEHOUSE_HOME": home})
    os.environ.update(spark_environment(settings.home))
    runs = open_runs(spark_session("racing", settings), settings, Path(home), name)
    print(_DONE, flush=True)
    for line in sys.stdin:
        work, run_id, archive = json.loads(line)
        _race(work, runs.context(Path(archive), run_id))
        print(_DONE, flush=True)


def _race(work: str, context: StepContext) -> None:
    if work == "upkeep":
        do("maintain", context)
        _compact_and_expire(context)
    elif work == "backfill":
        do("run", context)
        through(AGAIN, replace(context, backfill=Backfill(INTERVAL)))
    else:
        do(work, context)


def _compact_and_expire(context: StepContext) -> None:
    """Every file of every table is written again, and what no ref names is forgotten.

    Somebody else's maintenance: it asks for no lease, and loses races as Iceberg decides.
    """
    before = f"TIMESTAMP '{datetime.now(UTC):%Y-%m-%d %H:%M:%S}+00:00'"
    for table in tables_of(context.ledger.catalog, context.source.name):
        name = full_name(table)
        for call in (
            f"rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))",
            f"expire_snapshots(table => '{name}', older_than => {before}, retain_last => 1)",
        ):
            with suppress(*FAILURES):
                context.spark.sql(f"CALL lakehouse.system.{call}").collect()


if __name__ == "__main__":
    main(*sys.argv[1:])
