"""The process that holds a lease: this one, and whether another one is gone."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from lakehouse.plan.lease import Holder, Lease


def this_process() -> Holder:
    """The holder that this process is."""
    return Holder(socket.gethostname(), os.getpid(), _start_of(os.getpid()) or 0)


def is_gone(lease: Lease | None) -> bool:
    """Whether a lease's process is known to have ended; False on another host."""
    holder = lease.holder if lease else None
    if holder is None or holder.host != socket.gethostname():
        return False
    # A lease that this process left is nobody's any more: it runs one step at a time.
    return holder == this_process() or _start_of(holder.pid) != holder.started


def _start_of(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot (proc(5), field 22); None if none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])
