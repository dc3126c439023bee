"""MariaDB 11.4 with GTIDs and a row binlog."""

from __future__ import annotations

import subprocess
from pathlib import Path

from infra.errors import StackError
from infra.home import StackHome
from infra.servers import binlog
from infra.servers.server import Server
from infra.setup import layout
from infra.sources import Engine

# What `mariadb-install-db` runs, without help texts and the sys schema, which take longest.
_SYSTEM_TABLES = (
    "mariadb_system_tables.sql",
    "mariadb_performance_tables.sql",
    "mariadb_system_tables_data.sql",
    "maria_add_gis_sp_bootstrap.sql",
)
_BEFORE_SYSTEM_TABLES = (
    "CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n"
)


def mariadb_server(home: StackHome, port: int) -> Server:
    """The MariaDB server of this stack."""
    database = binlog.admin(home, Engine.MARIADB, port)
    return Server(
        name=Engine.MARIADB,
        command=(
            *_program(home, home.data(Engine.MARIADB)),
            *binlog.common_options(home, Engine.MARIADB, port),
            "--server-id=2",
            "--gtid-strict-mode=ON",
            # Else each start makes an RSA key: seconds to a minute. Nobody leaves loopback.
            "--skip-ssl",
        ),
        prepare=lambda: binlog.prepare_data(
            home, Engine.MARIADB, lambda folder: _initialise(home, folder)
        ),
        probe=lambda: binlog.probe(database),
    )


def _program(home: StackHome, data: Path) -> tuple[str, ...]:
    installed = layout.mariadb_home()
    return (
        str(installed / "bin" / "mariadbd"),
        "--no-defaults",
        f"--basedir={installed}",
        f"--lc-messages-dir={installed / 'share'}",
        f"--datadir={data}",
        binlog.own_tmpdir(home, Engine.MARIADB),
        "--innodb-use-native-aio=OFF",
        "--innodb-log-file-size=32M",
    )


def _initialise(home: StackHome, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    share = layout.mariadb_home() / "share"
    script = _BEFORE_SYSTEM_TABLES + "".join(
        (share / name).read_text(encoding="utf-8") for name in _SYSTEM_TABLES
    )
    # Both options as `mariadb-install-db` sets them: the scripts need them.
    command = (
        *_program(home, folder),
        "--bootstrap",
        "--enforce-storage-engine=",
        "--max-allowed-packet=8M",
        *binlog.as_root(),
    )
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StackError(
            f"MariaDB's data folder {str(folder)!r} could not be made: expected exit code 0 of "
            f"mariadbd --bootstrap, got {done.returncode}:\n{done.stdout}{done.stderr}"
        )
