"""Files of reports: written whole or not at all, with names that are safe in a path."""

from __future__ import annotations

import os
import re
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old or the new content, never a part.

    A file that says so already stays as it is.
    """
    # Text from messages may hold lone surrogates.
    content = text.encode("utf-8", errors="backslashreplace")
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    temporary.replace(path)


def point_to(link: Path, target: str) -> None:
    """Make a relative symbolic link, replacing the one that is there in one step."""
    temporary = link.with_name(f".{link.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(link)


def folder_name(text: str) -> str:
    """A cut or run id as the name of one folder."""
    name = re.sub(r"[^A-Za-z0-9_.=-]", "_", text).lstrip(".")[:120]
    return name or "_"
