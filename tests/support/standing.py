"""A run in a process of its own that stands still at a failpoint, and later goes on.

It may be stopped there with SIGSTOP, as by a laptop's lid or a debugger: its heartbeat stops with
it, and it knows nothing of the time that went by when it goes on.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lakehouse.failpoints import VARIABLE
from lakehouse.spark.control.lease_table import LeaseTable
from tests.support.campaign import Campaign

_ROOT = Path(__file__).resolve().parents[2]
_DEADLINE_S = 300.0


@dataclass(frozen=True)
class Standing:
    """A run that stands still.

    Attributes:
        file: There while it waits at its failpoint.
        catalog: SQLite's file.
    """

    process: subprocess.Popen[bytes]
    file: Path
    log: Path
    catalog: Path

    def stop(self) -> None:
        """Stop it, and its JVM, which is of its session, while it has no lock on the catalog.

        Its other threads go on at a failpoint, and its heartbeat: SQLite keeps the lock of a
        process that is stopped in the middle of a commit, and nobody else gets any further.
        """
        until = time.monotonic() + _DEADLINE_S
        os.killpg(self.process.pid, signal.SIGSTOP)
        while _is_locked(self.catalog):
            assert time.monotonic() < until, f"{self.catalog}: locked whenever it was looked at"
            os.killpg(self.process.pid, signal.SIGCONT)
            time.sleep(0.05)
            os.killpg(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it run to its end, which it reaches by itself."""
        self.file.unlink()
        os.killpg(self.process.pid, signal.SIGCONT)
        assert self.process.wait(_DEADLINE_S) == 0, self.log.read_text(encoding="utf-8")[-4000:]


@contextmanager
def standing(campaign: Campaign, run_id: str, where: str, nth: int) -> Iterator[Standing]:
    """Begin a run over all that the bank has sent, and wait until it stands at a failpoint.

    Args:
        campaign: Of which source.
        run_id: Names the run.
        where: `STEP.POINT`.
        nth: How often the place is passed until then, from 1.
    """
    runs, file = campaign.runs, campaign.runs.folder / f"stands_{run_id}"
    archive, log = campaign.context(run_id).archive, campaign.runs.folder / f"{run_id}.log"
    command = [sys.executable, "-m", "tests.support.dying_run", str(runs.settings.home)]
    command += [runs.source.name, run_id, "run", str(archive)]
    with log.open("wb") as written:
        process = subprocess.Popen(
            command,
            cwd=_ROOT,
            env=os.environ | {VARIABLE: f"{where}:{nth}:pause={file}"},
            stdout=written,
            stderr=written,
            start_new_session=True,
        )
    try:
        _await(process, file, log)
        catalog = Path(runs.settings.catalog_uri.removeprefix("sqlite:///"))
        yield Standing(process, file, log, catalog)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def let_the_lease_end(campaign: Campaign, run_id: str) -> None:
    """Note a run's lease as it is when its time has gone by, without waiting for that."""
    table = LeaseTable(campaign.runs.ledger.catalog, campaign.runs.source.name)
    lease = table.current()
    if lease is not None and lease.run_id == run_id:
        assert table.wrote(replace(lease, expires_at_s=time.time()))


def _is_locked(catalog: Path) -> bool:
    with closing(sqlite3.connect(catalog, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY":
                raise
            return True
    return False


def _await(process: subprocess.Popen[bytes], file: Path, log: Path) -> None:
    until = time.monotonic() + _DEADLINE_S
    while not file.exists():
        assert process.poll() is None, log.read_text(encoding="utf-8")[-4000:]
        assert time.monotonic() < until, f"{log}: the run did not come to its failpoint"
        time.sleep(0.05)
