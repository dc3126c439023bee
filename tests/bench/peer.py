"""A peer of the benchmark: its process, in an environment of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from infra.setup.extra import extra_environment
from infra.setup.layout import REPOSITORY
from infra.setup.relock import PEERS_LOCK
from tests.bench.accounts import Batch
from tests.bench.product import Cost

# Name in the figures → program.
PEERS = {"delta-rs": "delta_rs", "PyIceberg upsert": "pyiceberg_upsert"}


class PeerProcess:
    """A table of accounts that another system changes."""

    def __init__(self, name: str, folder: Path) -> None:
        python = extra_environment(PEERS_LOCK) / "bin" / "python"
        self._errors = folder.with_suffix(".log")
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [python, "-m", f"tests.bench.peers.{PEERS[name]}", folder],
                cwd=REPOSITORY,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def load(self, rows: int) -> None:
        """Write the first rows."""
        self._ask({"do": "load", "rows": rows})

    def merge(self, batch: Batch) -> Cost:
        """Make the changes of a batch."""
        took = self._ask({"do": "merge", "batch": [batch.number, batch.changes, batch.rows]})
        return Cost(took["cpu"], took["wall"])

    def checksum(self) -> tuple[object, ...]:
        """As `accounts.checksum`."""
        return tuple(self._ask({"do": "checksum"})["checksum"])

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _ask(self, what: dict[str, object]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(what) + "\n")
        stdin.flush()
        answer = stdout.readline()
        assert answer, self._errors.read_text(encoding="utf-8")[-2000:]
        return dict(json.loads(answer))


@contextmanager
def peers(folder: Path, rows: int) -> Iterator[dict[str, PeerProcess]]:
    """All of them, with the first rows."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as opened:
        begun = {}
        for name, program in PEERS.items():
            begun[name] = PeerProcess(name, folder / program)
            opened.callback(begun[name].close)
            begun[name].load(rows)
        yield begun
