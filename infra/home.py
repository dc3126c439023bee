"""Where the local stack keeps its things below `LAKEHOUSE_HOME`, and its passwords.

stack.json              what runs and how to reach it; with passwords, mode 0600
logs/<server>.log       one file for each server; the run before is `<server>.log.1`
airflow/                AIRFLOW_HOME
stack/data/<server>/    data of each server
stack/tmp/<server>/     temporary tables of a database
stack/conf/             configuration files written at each start
stack/secrets/          passwords, mode 0700
stack/{id,ports.json,lock}
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.errors import StackError
from lakehouse.config.home import make_private

# Who logs in to the servers. `owner` owns a sample database, `debezium` only reads
# changes, `reader` only rows; `signals` writes signals and reads nothing; `kafka` is
# the lakehouse's at the broker, `connect` Kafka Connect's.
PASSWORD_NAMES = (
    "admin",
    "owner",
    "debezium",
    "reader",
    "signals",
    "kafka",
    "connect",
    "airflow_database",
    "airflow_admin",
    "airflow_viewer",
    "airflow_keys",
)
_OWNER_ONLY = 0o600


@dataclass(frozen=True, slots=True)
class StackHome:
    """The paths of one installation's local stack."""

    root: Path

    @property
    def state_file(self) -> Path:
        """What runs and how to reach it; there from the first start to `down`."""
        return self.root / "stack.json"

    @property
    def logs(self) -> Path:
        """The folder of the servers' log files."""
        return self.root / "logs"

    @property
    def airflow(self) -> Path:
        """Airflow's own home."""
        return self.root / "airflow"

    @property
    def secrets(self) -> Path:
        """The folder that holds passwords, closed to other users."""
        return self.root / "stack" / "secrets"

    @property
    def conf(self) -> Path:
        """The folder of generated configuration files."""
        return self.root / "stack" / "conf"

    @property
    def ports_file(self) -> Path:
        """The ports of the last start, which the next start takes again where they are free."""
        return self.root / "stack" / "ports.json"

    def log(self, server: str) -> Path:
        """The log file of a server."""
        return self.logs / f"{server}.log"

    def data(self, server: str) -> Path:
        """The data folder of a server."""
        return self.root / "stack" / "data" / server

    def scratch(self, server: str) -> Path:
        """The folder of a server's temporary files, which no other server may share."""
        return self.root / "stack" / "tmp" / server

    @property
    def was_used(self) -> bool:
        """Whether a stack was ever started here."""
        return (self.root / "stack" / "id").exists()

    def prepare(self) -> None:
        """Make what every server needs: folders, the stack's id, passwords."""
        make_private(self.root)
        for folder in (self.logs, self.conf, self.root / "stack" / "data"):
            folder.mkdir(parents=True, exist_ok=True)
        self.secrets.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Now, since servers that start at the same time must not each make their own.
        self.stack_id()
        self.passwords()

    def stack_id(self) -> str:
        """The mark that every process of this stack carries in its environment."""
        file = self.root / "stack" / "id"
        if not file.exists():
            write_private(file, secrets.token_hex(16))
        return file.read_text(encoding="utf-8").strip()

    def passwords(self) -> dict[str, str]:
        """The passwords by name, made at random the first time."""
        file = self.secrets / "passwords.json"
        kept: dict[str, str] = json.loads(file.read_text("utf-8")) if file.exists() else {}
        missing = [name for name in PASSWORD_NAMES if name not in kept]
        if missing:
            kept |= {name: secrets.token_urlsafe(18) for name in missing}
            write_private(file, json.dumps(kept, indent=2))
        return kept

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the stack for one starting or stopping command; freed when the process ends.

        Raises:
            StackError: another command is starting or stopping this stack.
        """
        make_private(self.root)
        file = self.root / "stack" / "lock"
        file.parent.mkdir(parents=True, exist_ok=True)
        refusal = (
            f"The stack in {str(self.root)!r} is being started or stopped by another "
            "command: expected to be the only one; wait for it, or choose another "
            "LAKEHOUSE_HOME"
        )
        with lock(file, lambda _: refusal):
            yield


@contextmanager
def lock(file: Path, refusal: Callable[[str], str]) -> Iterator[None]:
    """Hold a file, which has the number of the process that does; freed when the process ends.

    Args:
        file: In a folder that is there.
        refusal: What is said where another process holds it, of that one's number.

    Raises:
        StackError: Another process holds it.
    """
    with file.open("a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as busy:
            handle.seek(0)
            raise StackError(refusal(handle.read())) from busy
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        yield


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner can read, in one step: readers see old or new, whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    Path(name).chmod(_OWNER_ONLY)
    Path(name).replace(file)
