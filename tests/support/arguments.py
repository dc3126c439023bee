"""What the arguments of this machine's processes were while something ran."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_EVERY_S = 0.05


@contextmanager
def watched_arguments() -> Iterator[set[bytes]]:
    """The command lines seen inside the `with` block; one that ends within 50 ms may be missed."""
    seen: set[bytes] = set()
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_EVERY_S):
            for process in Path("/proc").iterdir():
                if process.name.isdigit():
                    with suppress(OSError):
                        seen.add((process / "cmdline").read_bytes())

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield seen
    finally:
        ended.set()
        watcher.join()
