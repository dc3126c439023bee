"""What MySQL and MariaDB have in common: options, data folder, logins, readiness."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from infra.clients import query
from infra.home import StackHome, write_private
from infra.ports import LOOPBACK
from infra.sources import ADMIN, Database, Engine


def common_options(home: StackHome, engine: Engine, port: int) -> tuple[str, ...]:
    """Options of both servers: loopback only, UTC, a row binlog with full row metadata."""
    return (
        f"--bind-address={LOOPBACK}",
        f"--port={port}",
        # Relative to the data folder: the path of a socket may have 107 characters only.
        "--socket=server.sock",
        "--pid-file=server.pid",
        f"--init-file={home.secrets / f'{engine}.sql'}",
        "--default-time-zone=+00:00",
        "--character-set-server=utf8mb4",
        "--max-allowed-packet=64M",
        "--log-bin=binlog",
        "--binlog-format=ROW",
        "--binlog-row-image=FULL",
        # Column names, signedness and character sets travel with the rows.
        "--binlog-row-metadata=FULL",
        # Commits survive a killed server, only a crash of the machine can lose some.
        "--innodb-flush-log-at-trx-commit=2",
        "--sync-binlog=0",
        "--innodb-buffer-pool-size=64M",
        *as_root(),
    )


def as_root() -> tuple[str, ...]:
    """The option without which both servers refuse to run as root."""
    return ("--user=root",) if os.geteuid() == 0 else ()


def own_tmpdir(home: StackHome, engine: Engine) -> str:
    """The option that keeps temporary tables in the stack's own folder.

    A server that starts removes every `#sql…` file there, also of another one that is running.
    """
    return f"--tmpdir={home.scratch(engine)}"


def prepare_data(home: StackHome, engine: Engine, initialise: Callable[[Path], None]) -> None:
    """Make the data folder the first time, remove old locks, write the file with the logins."""
    data = home.data(engine)
    home.scratch(engine).mkdir(mode=0o700, parents=True, exist_ok=True)
    if not data.exists():
        fresh = data.with_name(f"{data.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        initialise(fresh)
        fresh.rename(data)
    # The server is not running (see start_server), but the process id in its lock file may be
    # another process's by now, and the server would refuse to start.
    for lock in ("server.sock", "server.sock.lock", "server.pid"):
        (data / lock).unlink(missing_ok=True)
    write_private(home.secrets / f"{engine}.sql", _login_sql(home.passwords()["admin"]))


def admin(home: StackHome, engine: Engine, port: int) -> Database:
    """The login that may do everything."""
    return Database(engine, port, ADMIN, home.passwords()["admin"], "")


def probe(database: Database) -> None:
    """Raises NotReady until the server takes a login and answers a query."""
    query(database, "SELECT 1")


def _login_sql(password: str) -> str:
    # Run before the first connection is taken, so that root never has an empty password.
    # Not in the binlog, where connectors would read it.
    lines = (
        "SET SESSION sql_log_bin = 0;",
        f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{password}';",
        f"CREATE USER IF NOT EXISTS '{ADMIN}'@'{LOOPBACK}' IDENTIFIED BY '{password}';",
        f"GRANT ALL PRIVILEGES ON *.* TO '{ADMIN}'@'{LOOPBACK}' WITH GRANT OPTION;",
    )
    return "".join(f"{line}\n" for line in lines)
