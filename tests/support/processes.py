"""Processes of this machine, as `/proc` shows them."""

from __future__ import annotations

from pathlib import Path


def command_lines() -> dict[int, bytes]:
    """The command line of each process; that of one that has ended is empty."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found[int(folder.name)] = (folder / "cmdline").read_bytes()
            except OSError:
                continue
    return found


def parent(pid: int) -> int:
    """The process that a living one was started by."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return int(stat.rpartition(")")[2].split()[1])
