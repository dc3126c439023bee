"""A peer of the benchmark: its process, in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from infra.setup.extra import extra_environment
from infra.setup.jars import extra_jars
from infra.setup.layout import REPOSITORY, java_home
from infra.setup.lock import Jar
from infra.setup.relock import HUDI_LOCK, PEERS_LOCK
from tests.bench.accounts import Batch
from tests.bench.cpu import Cost

# Name in the figures → program.
PEERS = {
    "delta-rs": "delta_rs",
    "PyIceberg upsert": "pyiceberg_upsert",
    "Delta Lake MERGE": "delta_spark",
    "Hudi merge-on-read": "hudi_spark",
}
_DELTA = (
    Jar(
        "io.delta",
        "delta-spark_4.1_2.13",
        "4.4.0",
        "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10",
    ),
    Jar(
        "io.delta",
        "delta-storage",
        "4.4.0",
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
)
_HUDI = (
    Jar(
        "org.apache.hudi",
        "hudi-spark3.5-bundle_2.12",
        "1.2.0",
        "cc79fba00822f3a6c3a860df99375c2e3d4a034d037dbf4213a4966a706a7676",
    ),
)
# Program → the jars that its Spark gets.
_JARS = {"delta_spark": ("delta", _DELTA), "hudi_spark": ("hudi", _HUDI)}
_LOCKS = {"delta_rs": PEERS_LOCK, "pyiceberg_upsert": PEERS_LOCK, "hudi_spark": HUDI_LOCK}


class PeerProcess:
    """A table of accounts that another system changes."""

    def __init__(self, name: str, folder: Path) -> None:
        program = PEERS[name]
        interpreter, arguments = _means(program)
        self._errors = folder.with_suffix(".log")
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [interpreter, "-m", f"tests.bench.peers.{program}", folder, *arguments],
                cwd=REPOSITORY,
                env=_environment(),
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


def _means(program: str) -> tuple[Path, tuple[str, ...]]:
    """Which Python runs a peer, and what it is told beside its folder."""
    lock = _LOCKS.get(program)
    # Delta Lake runs in the project's own Spark.
    python = extra_environment(lock) / "bin" / "python" if lock else Path(sys.executable)
    if program not in _JARS:
        return python, ()
    found = sorted(extra_jars(*_JARS[program]).glob("*.jar"))
    return python, (",".join(map(str, found)),)


def _environment() -> dict[str, str]:
    """Without the settings of our own Spark."""
    own = (
        "SPARK_CONF_DIR",
        "PYSPARK_SUBMIT_ARGS",
        "PYSPARK_GATEWAY_PORT",
        "PYSPARK_GATEWAY_SECRET",
    )
    kept = {name: text for name, text in os.environ.items() if name not in own}
    return {**kept, "JAVA_HOME": str(java_home())}


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
