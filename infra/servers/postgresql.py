"""PostgreSQL clusters of the stack: one for sources, one for Airflow's metadata.

They are two so that Airflow's own writes never pass through the replication slot of a source.
PostgreSQL refuses to run as root. Started by root it becomes the user `nobody`, which keeps
the right to pass closed folders (CAP_DAC_OVERRIDE), since LAKEHOUSE_HOME may be below one.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path

from infra.clients import query
from infra.errors import StackError
from infra.home import StackHome, write_private
from infra.ports import LOOPBACK
from infra.servers.server import Server
from infra.setup import layout
from infra.sources import ADMIN, Database, Engine

_SETPRIV = "setpriv"
_SETTINGS = (
    f"listen_addresses={LOOPBACK}",
    "unix_socket_directories=",
    "timezone=UTC",
    "log_timezone=UTC",
    "max_connections=100",
    "jit=off",
    "logging_collector=off",
    "log_checkpoints=off",
)
# https://www.postgresql.org/docs/17/logical-replication-config.html
LOGICAL = ("wal_level=logical", "max_replication_slots=10", "max_wal_senders=10")
# A lost commit of Airflow's metadata costs nothing: only a crash of the machine loses one.
RELAXED = ("synchronous_commit=off",)


def postgresql_server(home: StackHome, name: str, port: int, settings: tuple[str, ...]) -> Server:
    """One cluster, named as its data folder."""
    program = str(layout.postgresql_home() / "bin" / "postgres")
    options = (f"port={port}", *_SETTINGS, *settings)
    data = home.data(name)
    admin = Database(Engine.POSTGRESQL, port, ADMIN, home.passwords()["admin"], "postgres")
    return Server(
        name=name,
        command=(
            *_user_change(),
            program,
            "-D",
            str(data),
            *(part for option in options for part in ("-c", option)),
        ),
        prepare=lambda: _prepare(home, data),
        probe=lambda: _probe(admin),
        environment={"LC_ALL": "C"},
    )


def _probe(admin: Database) -> None:
    query(admin, "SELECT 1")


def _user_change() -> tuple[str, ...]:
    if os.geteuid() != 0:
        return ()
    if shutil.which(_SETPRIV) is None:
        raise StackError(
            f"PostgreSQL does not run as root and {_SETPRIV!r} (util-linux) was not found on "
            "PATH: expected it, to start PostgreSQL as another user; install util-linux, or run "
            "lakehouse as an ordinary user"
        )
    nobody = _nobody()
    return (
        _SETPRIV,
        # Else access(2), with which PostgreSQL looks at its own programs, ignores the capability.
        "--securebits=+no_setuid_fixup",
        f"--reuid={nobody.pw_uid}",
        f"--regid={nobody.pw_gid}",
        "--clear-groups",
        "--inh-caps=+dac_override",
        "--ambient-caps=+dac_override",
    )


def _nobody() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam("nobody")
    except KeyError as missing:
        raise StackError(
            "PostgreSQL does not run as root and there is no user 'nobody': expected it, to "
            "start PostgreSQL as that user; add it, or run lakehouse as an ordinary user"
        ) from missing


def _prepare(home: StackHome, data: Path) -> None:
    if data.exists():
        # No process of this cluster is left (see start_server), so the id in this file is of
        # an earlier run; another process may have it by now, which PostgreSQL would take for
        # a running postmaster.
        (data / "postmaster.pid").unlink(missing_ok=True)
        return
    fresh = data.with_name(f"{data.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    if os.geteuid() == 0:
        nobody = _nobody()
        os.chown(fresh, nobody.pw_uid, nobody.pw_gid)
    _initialise(home, fresh)
    fresh.rename(data)


def _initialise(home: StackHome, folder: Path) -> None:
    password_file = home.secrets / f"{folder.name}.password"
    write_private(password_file, home.passwords()["admin"])
    command = (
        *_user_change(),
        str(layout.postgresql_home() / "bin" / "initdb"),
        f"--pgdata={folder}",
        f"--username={ADMIN}",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        # Built in: sorts alike on every machine and needs no locale of the system.
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        "--no-sync",
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    password_file.unlink()
    if done.returncode != 0:
        raise StackError(
            f"PostgreSQL's data folder {str(folder)!r} could not be made: expected exit code 0 "
            f"of initdb, got {done.returncode}:\n{done.stdout}{done.stderr}"
        )
