"""Folders that hold what a source's people are called: closed to other users of the machine."""

from __future__ import annotations

from pathlib import Path


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner alone.

    A folder that is there keeps its mode: whoever made it has chosen one.
    """
    if not folder.exists():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
