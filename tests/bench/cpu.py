"""What work takes: CPU time of a process and all that it started, as the kernel counts it; wall."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

_TICKS = os.sysconf("SC_CLK_TCK")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Cost:
    """What a piece of work took, in seconds."""

    cpu: float
    wall: float


def took(work: Callable[[], _Result]) -> tuple[Cost, _Result]:
    """Do a piece of work; what it took, and what it gave."""
    cpu, began = cpu_seconds(), time.monotonic()
    result = work()
    return Cost(cpu_seconds() - cpu, time.monotonic() - began), result


def total(costs: Iterable[Cost]) -> Cost:
    """What several pieces took one after the other."""
    each = tuple(costs)
    return Cost(sum(c.cpu for c in each), sum(c.wall for c in each))


def median(costs: Iterable[Cost]) -> Cost:
    """The median of either."""
    each = tuple(costs)
    return Cost(statistics.median(c.cpu for c in each), statistics.median(c.wall for c in each))


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


def own_seconds() -> float:
    """User and system time of this process alone."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def process_seconds(pid: int) -> float:
    """User and system time of one process that lives."""
    stat = _stat(Path(f"/proc/{pid}"))
    assert stat is not None, f"process {pid} has ended"
    return stat[2] / _TICKS


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
