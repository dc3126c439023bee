"""MySQL 8.0 with GTIDs and a row binlog."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

import pymysql

from infra.clients import query, run_sql
from infra.errors import NotReady, StackError
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
            *_program(home, home.data(Engine.MYSQL)),
            *binlog.common_options(home, Engine.MYSQL, port),
            "--server-id=1",
            "--gtid-mode=ON",
            "--enforce-gtid-consistency=ON",
            "--mysqlx=OFF",
            "--default-authentication-plugin=mysql_native_password",
            "--performance-schema=OFF",
            "--event-scheduler=OFF",
        ),
        prepare=lambda: binlog.prepare_data(
            home, Engine.MYSQL, lambda folder: _initialise(home, folder)
        ),
        probe=lambda: binlog.probe(database),
    )


def end_binlog_readers(home: StackHome, port: int) -> None:
    """Close connections that read the binlog, if the server answers.

    A server that is asked to end waits about ten seconds for readers that are gone already.
    """
    database = binlog.admin(home, Engine.MYSQL, port)
    with suppress(NotReady, pymysql.MySQLError):
        readers = query(
            database,
            "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'",
        )
        for (connection_id,) in readers:
            run_sql(database, f"KILL {connection_id}")


def _program(home: StackHome, data: Path) -> tuple[str, ...]:
    installed = layout.mysql_home()
    return (
        str(installed / "bin" / "mysqld"),
        "--no-defaults",
        f"--basedir={installed}",
        f"--lc-messages-dir={installed / 'share'}",
        f"--datadir={data}",
        binlog.own_tmpdir(home, Engine.MYSQL),
        "--log-error-verbosity=2",
        "--innodb-use-native-aio=OFF",
        "--innodb-log-file-size=32M",
        # Nobody leaves loopback: no keys have to be made.
        "--skip-ssl",
        "--auto-generate-certs=OFF",
        "--sha256-password-auto-generate-rsa-keys=OFF",
        "--caching-sha2-password-auto-generate-rsa-keys=OFF",
    )


def _initialise(home: StackHome, folder: Path) -> None:
    command = (*_program(home, folder), "--initialize-insecure", *binlog.as_root())
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StackError(
            f"MySQL's data folder {str(folder)!r} could not be made: expected exit code 0 of "
            f"mysqld --initialize-insecure, got {done.returncode}:\n{done.stdout}{done.stderr}"
        )
