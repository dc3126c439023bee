"""Processes of the local stack: start in an own session, recognise later, end completely.

Each server is started in its own session and carries the stack's id and its own name in its
environment, as do its descendants. That is how `down` finds what a killed `up` left behind, and
never anything else; a process id alone is only believed together with its start time.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

STACK_VARIABLE = "LAKEHOUSE_STACK_ID"
SERVER_VARIABLE = "LAKEHOUSE_STACK_SERVER"
_PROC = Path("/proc")
_POLL_S = 0.05

# Keeps the handles of own children, so that those that ended can be reaped.
_children: dict[int, subprocess.Popen[bytes]] = {}


@atexit.register
def _reap() -> None:
    """Reap the servers that somebody else has ended, for which no exit code was asked."""
    for child in _children.values():
        child.poll()


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """One server's process.

    Attributes:
        started: Start time in clock ticks since boot, as `/proc/<pid>/stat` has it.
    """

    server: str
    pid: int
    started: int


def start_process(
    server: str,
    command: tuple[str, ...],
    *,
    environment: Mapping[str, str],
    log: Path,
    stack_id: str,
) -> ProcessRecord:
    """Start a server in its own session; its output goes to `log`, the log before is kept.

    Args:
        server: The server's name.
        command: The program and its arguments; never a secret.
        environment: Variables over those of this process.
        log: The file for standard output and error.
        stack_id: The mark by which the process is found later.
    """
    if log.exists():
        log.replace(log.with_name(f"{log.name}.1"))
    marks = {STACK_VARIABLE: stack_id, SERVER_VARIABLE: server}
    with log.open("wb") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment, **marks},
            start_new_session=True,
        )
    _children[child.pid] = child
    return ProcessRecord(server, child.pid, _started(child.pid) or 0)


def exit_code(record: ProcessRecord) -> int | None:
    """How a process that this one started has ended; None while it runs or if unknown."""
    child = _children.get(record.pid)
    return None if child is None else child.poll()


def is_running(record: ProcessRecord) -> bool:
    """Whether this very process still runs; another one with the same id does not count."""
    return record.pid in _living({record.pid}) and _started(record.pid) == record.started


def stack_pids(stack_id: str, server: str | None = None) -> set[int]:
    """The processes that carry the stack's id, of one server or of all; never this one."""
    marks = {f"{STACK_VARIABLE}={stack_id}".encode()}
    if server is not None:
        marks.add(f"{SERVER_VARIABLE}={server}".encode())
    own = _ancestry(os.getpid())
    return {pid for pid in _all_pids() - own if marks <= set(_environment(pid))}


def session_pids(servers: Iterable[ProcessRecord]) -> set[int]:
    """The processes of the sessions that were begun for servers, also when these are gone.

    Airflow's workers overwrite their environment with their title and outlive the scheduler until
    their task ends. While a session has members its number is no other process's; a leader that
    started at another time is a stranger.
    """
    sessions = {
        str(server.pid) for server in servers if _started(server.pid) in (None, server.started)
    }
    return _living({pid for pid in _all_pids() if sessions & set(_stat(pid)[3:4])})


def pids_in_folder(folder: Path, program: str) -> set[int]:
    """The processes of a program that work in this folder.

    PostgreSQL overwrites its environment with its title, and its children outlive a killed
    postmaster for a moment; their working folder, the data folder, still tells whose they are.
    """
    wanted = folder.resolve()
    found = set()
    for pid in _all_pids():
        try:
            where = (_PROC / str(pid) / "cwd").readlink()
            what = (_PROC / str(pid) / "exe").readlink()
        except OSError:
            continue
        if where == wanted and what.name == program:
            found.add(pid)
    return found


def end_processes(
    records: Iterable[ProcessRecord],
    marked: Callable[[], set[int]],
    strays: Callable[[], set[int]],
    *,
    stop_signal: signal.Signals,
    grace_s: float,
) -> None:
    """End servers and all their descendants: ask, wait, then kill what is left.

    Args:
        records: The servers that are asked by `stop_signal`, each with its process group.
        marked: Finds the processes that carry the stack's mark; they are asked as well.
        strays: Finds those that do not; they follow their server, else they are killed.
        stop_signal: What the servers take as the request to end.
        grace_s: How long to wait before SIGKILL.
    """
    servers = tuple(records)
    for record in servers:
        if is_running(record):
            _send(record.pid, stop_signal, group=True)
    for pid in marked() | session_pids(servers):
        _send(pid, stop_signal)

    def leftovers() -> set[int]:
        return marked() | strays() | session_pids(servers)

    _wait_gone(leftovers, grace_s)
    # Killed in rounds: a dying process may have started another one meanwhile.
    for _ in range(20):
        left = _living(leftovers())
        if not left:
            return
        for pid in left:
            _send(pid, signal.SIGKILL)
        _wait_gone(leftovers, 1.0)


def _wait_gone(leftovers: Callable[[], set[int]], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while _living(leftovers()) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _send(pid: int, number: signal.Signals, *, group: bool = False) -> None:
    try:
        if group:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except ProcessLookupError:
        return


def _living(pids: set[int]) -> set[int]:
    for pid in pids & _children.keys():
        _children[pid].poll()  # Reaps it when it has ended.
    return {pid for pid in pids if _stat(pid)[:1] not in ([], ["Z"], ["X"])}


def _all_pids() -> set[int]:
    return {int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()}


def _ancestry(pid: int) -> set[int]:
    found = set()
    while pid > 0 and pid not in found:
        found.add(pid)
        stat = _stat(pid)
        pid = int(stat[1]) if stat else 0
    return found


def _environment(pid: int) -> list[bytes]:
    try:
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _stat(pid: int) -> list[str]:
    # The fields after the command's name: state, parent, …; the name may hold spaces and ')'.
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _started(pid: int) -> int | None:
    stat = _stat(pid)
    return int(stat[19]) if stat else None
