"""A whole run in a process that kills itself right after one write to a control table.

    python -m tests.support.dying_step HOME SOURCE ARCHIVE TABLE N

The process gets SIGKILL once write N (from 1) to TABLE is committed; its run id is `killed`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from infra.spark import spark_environment
from lakehouse.config import Settings, parse_source
from lakehouse.plan.records import STEPS, ControlTable, Record
from lakehouse.spark.ledger import Ledger
from lakehouse.spark.session import spark_session
from lakehouse.steps.context import StepContext
from lakehouse.steps.runner import execute


class DyingLedger(Ledger):
    """A ledger whose process does not outlive a given write."""

    def __init__(self, settings: Settings, table: str, writes: int) -> None:
        super().__init__(settings)
        self._table, self._left = table, writes

    def append(self, table: ControlTable, rows: Sequence[Record]) -> None:
        super().append(table, rows)
        if table.name == self._table and rows:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)


def main(home: str, name: str, archive: str, table: str, nth: str) -> None:
    settings = Settings.from_environment({"LAKEHOUSE_HOME": home})
    os.environ.update(spark_environment(settings.home))
    context = StepContext(
        source=parse_source(f'connector = "postgresql"\ntopic_prefix = "{name}"\n', name),
        settings=settings,
        spark=spark_session("dying", settings),
        ledger=DyingLedger(settings, table, int(nth)),
        run_id="killed",
        run_started=datetime.now(UTC),
        archive=Path(archive),
    )
    for step in STEPS:
        execute(step, context)


if __name__ == "__main__":
    main(*sys.argv[1:])
