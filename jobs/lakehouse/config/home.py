"""Folders that hold what a source's people are called: closed to other users of the machine."""

from __future__ import annotations

from pathlib import Path

from lakehouse.errors import ConfigError


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner alone.

    A folder that is there keeps its mode: whoever made it has chosen one.

    Raises:
        ConfigError: It cannot be made.
    """
    if not folder.exists():
        make_private(folder.parent)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as refused:
            raise ConfigError(
                f"folder {str(folder)!r}: {refused.strerror}: expected one that is there or can be "
                "made; see LAKEHOUSE_HOME, the catalog's file and the warehouse"
            ) from refused
