"""CPU time of a process and all that it started, as the kernel counts it."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """User and system time of this process and its descendants; those that ended count too."""
    stats = [stat for folder in Path("/proc").iterdir() if (stat := _stat(folder)) is not None]
    children: dict[int, list[tuple[int, int]]] = {}
    own = 0
    for pid, parent, ticks in stats:
        children.setdefault(parent, []).append((pid, ticks))
        if pid == os.getpid():
            own = ticks
    total, left = own, [os.getpid()]
    while left:
        for pid, ticks in children.get(left.pop(), ()):
            total += ticks
            left.append(pid)
    return total / _TICKS


def _stat(folder: Path) -> tuple[int, int, int] | None:
    """Process, parent and ticks of `/proc/<pid>/stat` (`man 5 proc`); None for what is none."""
    if not folder.name.isdigit():
        return None
    try:
        # The program's name, in brackets, may hold anything.
        fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    # utime, stime, and those of children that were waited for.
    return int(folder.name), int(fields[1]), sum(map(int, fields[11:15]))
