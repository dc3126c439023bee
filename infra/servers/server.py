"""What the stack knows of a server, and how it starts one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra.errors import NotReady, StackError
from infra.home import StackHome
from infra.processes import ProcessRecord, is_running, start_process
from infra.stopping import end_server

_TAIL_LINES = 25
_POLL_S = 0.1


def _nothing() -> None:
    return


@dataclass(frozen=True, slots=True)
class Server:
    """One server process of the stack.

    Attributes:
        prepare: Makes data folder and configuration; does nothing that was done before.
        probe: Asks the server for real work; raises NotReady while it cannot answer.
    """

    name: str
    command: tuple[str, ...]
    probe: Callable[[], None]
    prepare: Callable[[], None] = _nothing
    environment: Mapping[str, str] = field(default_factory=dict)
    deadline_s: float = 90.0


def start_server(
    server: Server,
    home: StackHome,
    *,
    started: Callable[[ProcessRecord], None],
    cancelled: threading.Event,
) -> None:
    """Start a server and wait until it answers; what a killed run left of it is ended first.

    Args:
        server: The server.
        home: The stack's home.
        started: Called with the new process before the wait.
        cancelled: Ends the wait.

    Raises:
        StackError: the server ended or did not answer in time, or the start was cancelled.
    """
    end_server(home, server.name, None, grace_s=0)
    server.prepare()
    if cancelled.is_set():
        raise StackError(f"Start of {server.name} cancelled")
    log = home.log(server.name)
    record = start_process(
        server.name,
        server.command,
        environment=server.environment,
        log=log,
        stack_id=home.stack_id(),
    )
    started(record)
    wait_until(
        server.probe,
        what=server.name,
        deadline_s=server.deadline_s,
        cancelled=cancelled,
        alive=lambda: is_running(record),
        log=log,
    )


def wait_until(
    probe: Callable[[], None],
    *,
    what: str,
    deadline_s: float,
    cancelled: threading.Event,
    alive: Callable[[], bool] = lambda: True,
    log: Path | None = None,
) -> None:
    """Repeat a probe until it stops raising NotReady.

    Raises:
        StackError: the deadline passed, the process ended or the wait was cancelled; the
            message holds the probe's last answer and the end of the log.
    """
    deadline = time.monotonic() + deadline_s
    while True:
        try:
            probe()
        except NotReady as reason:
            if cancelled.wait(_POLL_S):
                raise StackError(f"Start of {what} cancelled") from reason
            if not alive():
                raise StackError(f"{what} ended while starting{log_tail(log)}") from reason
            if time.monotonic() > deadline:
                raise StackError(
                    f"{what} is not ready after {deadline_s:.0f} s: {reason}{log_tail(log)}"
                ) from reason
        else:
            return


def log_tail(log: Path | None) -> str:
    """The last lines of a log file as the end of an error message."""
    if log is None or not log.exists():
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
    return f"; the last lines of {log}:\n" + "\n".join(f"  {line}" for line in lines)
