"""A run in a process of its own that stands still at a failpoint, and later goes on.

It may be stopped there with SIGSTOP, as by a laptop's lid or a debugger: its heartbeat stops with
it, and it knows nothing of the time that went by when it goes on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lakehouse.failpoints import VARIABLE
from lakehouse.spark.lease_table import LeaseTable
from tests.support.campaign import Campaign

_ROOT = Path(__file__).resolve().parents[2]
_DEADLINE_S = 300.0


@dataclass(frozen=True)
class Standing:
    """A run that stands still.

    Attributes:
        file: There while it waits at its failpoint.
    """

    process: subprocess.Popen[bytes]
    file: Path
    log: Path

    def stop(self) -> None:
        """Stop it, and its JVM, which is of its session."""
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
        yield Standing(process, file, log)
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


def _await(process: subprocess.Popen[bytes], file: Path, log: Path) -> None:
    until = time.monotonic() + _DEADLINE_S
    while not file.exists():
        assert process.poll() is None, log.read_text(encoding="utf-8")[-4000:]
        assert time.monotonic() < until, f"{log}: the run did not come to its failpoint"
        time.sleep(0.05)
