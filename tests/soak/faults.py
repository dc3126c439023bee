"""Kills the Kafka Connect worker of one stack, and starts it again."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field

from infra.errors import StackError
from infra.home import StackHome
from infra.processes import is_running
from infra.stack import up
from infra.state import read_state
from lakehouse.config import Settings

_DEADLINE_S = 30


@dataclass(slots=True)
class Killer:
    """Attributes: kills, and how many seconds the worker was away in all."""

    settings: Settings
    kills: int = 0
    away_s: float = 0.0
    lines: list[str] = field(default_factory=list)

    def kill_after(self, seconds: float) -> None:
        """Wait, send SIGKILL to the worker, wait until it is gone, start it again.

        Raises:
            StackError: The worker did not run, or does not start again.
        """
        time.sleep(seconds)
        record = read_state(StackHome(self.settings.home)).find_process("connect")
        if record is None or not is_running(record):
            raise StackError(f"Kafka Connect {record!r}: expected it to run before it is killed")
        begun = time.monotonic()
        os.kill(record.pid, signal.SIGKILL)
        while is_running(record):
            if time.monotonic() > begun + _DEADLINE_S:
                raise StackError(f"Kafka Connect {record!r} still runs after SIGKILL")
            time.sleep(0.05)
        self.kills += 1
        up(self.settings, airflow=False, report=self.lines.append)
        self.away_s += time.monotonic() - begun
