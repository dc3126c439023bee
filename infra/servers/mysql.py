"""MySQL 8.0 with GTIDs and a row binlog."""

from __future__ import annotations

import subprocess
from pathlib import Path

from infra.errors import StackError
from infra.home import StackHome
from infra.servers import binlog
from infra.servers.server import Server
from infra.setup import layout
from infra.sources import Engine


def mysql_server(home: StackHome, port: int) -> Server:
    """The MySQL server of this stack."""
    database = binlog.admin(home, Engine.MYSQL, port)
    return Server(
        name=Engine.MYSQL,
        command=(
            *_program(home.data(Engine.MYSQL)),
            *binlog.common_options(home, Engine.MYSQL, port),
            "--server-id=1",
            "--gtid-mode=ON",
            "--enforce-gtid-consistency=ON",
            "--mysqlx=OFF",
            "--default-authentication-plugin=mysql_native_password",
            "--performance-schema=OFF",
        ),
        environment=_environment(),
        prepare=lambda: binlog.prepare_data(home, Engine.MYSQL, _initialise),
        probe=lambda: binlog.probe(database),
    )


def _environment() -> dict[str, str]:
    # Its own OpenSSL, and libaio where the system has none.
    return {"LD_LIBRARY_PATH": str(layout.mysql_home() / "lib")}


def _program(data: Path) -> tuple[str, ...]:
    installed = layout.mysql_home()
    return (
        str(installed / "bin" / "mysqld"),
        "--no-defaults",
        f"--basedir={installed}",
        f"--lc-messages-dir={installed / 'share'}",
        f"--datadir={data}",
        "--log-error-verbosity=2",
        "--innodb-use-native-aio=OFF",
        "--innodb-log-file-size=32M",
    )


def _initialise(folder: Path) -> None:
    command = (*_program(folder), "--initialize-insecure", *binlog.as_root())
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    if done.returncode != 0:
        raise StackError(
            f"MySQL's data folder {str(folder)!r} could not be made: expected exit code 0 of "
            f"mysqld --initialize-insecure, got {done.returncode}:\n{done.stdout}{done.stderr}"
        )
