"""What every application begins with: its log lines, and its end.

A driver must not outlive whoever launched it, or it could still commit after a retry began.

spark-submit starts a JVM, which starts the Python driver. When the launcher of the JVM dies, both
go on running and can commit (`reliability.md` §0.3). The driver therefore dies with the JVM
(prctl(2), PR_SET_PDEATHSIG) and ends the JVM when the JVM's own parent is gone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from pathlib import Path

from lakehouse.logs import configure

_PR_SET_PDEATHSIG = 1
_POLL_S = 1.0


def begin_application() -> None:
    """Log without the variables of a traceback, and end with whoever launched this."""
    configure()
    _die_with_launcher()


def _die_with_launcher() -> None:
    """Tie this process to its parent, and its parent to the grandparent. Linux only."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    jvm = os.getppid()
    launcher = _parent_of(jvm)
    if launcher is None or launcher <= 1:
        return
    threading.Thread(target=_watch, args=(jvm, launcher), daemon=True).start()


def _watch(jvm: int, launcher: int) -> None:
    while _parent_of(jvm) == launcher:
        time.sleep(_POLL_S)
    for pid in (jvm, os.getpid()):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _parent_of(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[1])
