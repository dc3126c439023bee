"""A catalog's file that somebody locks for longer than anyone waits: the command says so, and ends.

The lock is SQLite's own, held by this process while the command's processes ask for it.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from lakehouse.config import Settings
from lakehouse.failpoints import VARIABLE
from lakehouse.plan.catalog import BUSY_TIMEOUT_S
from lakehouse.plan.lease import HEARTBEAT_S, TTL_S
from lakehouse.spark.control.leases import Leases
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.opening import open_catalog
from tests.support.commands import ended_command, lakehouse
from tests.support.debezium import Postgres, Table, column

NAME = "locked_out"
ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
TOLD = f"the catalog's file was locked for more than {BUSY_TIMEOUT_S} s: expected others to hold"


@contextmanager
def locked(settings: Settings) -> Iterator[None]:
    """Nobody else reads or writes the catalog."""
    file = settings.catalog_uri.removeprefix("sqlite:///")
    connection = sqlite3.connect(file, timeout=60, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        connection.close()


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    (tmp_path / "sources").mkdir()
    text = f'connector = "postgresql"\ntopic_prefix = "{NAME}"\n'
    (tmp_path / "sources" / f"{NAME}.toml").write_text(text)
    variables = {"LAKEHOUSE_HOME": tmp_path / "home", "LAKEHOUSE_SOURCES": tmp_path / "sources"}
    return Settings.from_environment({name: str(path) for name, path in variables.items()})


def begun(home: Settings, folder: Path) -> tuple[str, ...]:
    """A cut is published, and the command that publishes the next one."""
    pg = Postgres(NAME)
    pg.snapshot(ORDERS, [{"id": 1, "name": "a"}])
    first = pg.archive(folder / "first")
    pg.transact((ORDERS, "u", None, {"id": 1, "name": "b"}))
    lakehouse(home, "run", "--source", NAME, "--archive", str(first))
    return ("run", "--source", NAME, "--archive", str(pg.archive(folder / "second")))


def names(home: Settings) -> list[str]:
    table = Ledger(home).catalog.load_table(f"silver_{NAME}.public__orders")
    return list(table.scan().to_arrow()["name"].to_pylist())


@pytest.mark.further
def test_a_command_that_finds_the_catalog_locked_says_so_and_the_next_one_does_the_work(
    home: Settings, tmp_path: Path
) -> None:
    command = begun(home, tmp_path)
    with locked(home):
        ended = ended_command(home, *command)
    assert ended.returncode == 1
    assert TOLD in ended.stdout + ended.stderr, ended.stdout
    assert "Traceback" not in ended.stderr
    assert names(home) == ["a"]
    lakehouse(home, *command)
    assert names(home) == ["b"]


@pytest.mark.further
@pytest.mark.parametrize("where", ["land.before_commit:1", "apply.before_commit:1"])
def test_a_run_that_finds_the_catalog_locked_half_way_says_so_and_the_next_one_does_the_work(
    home: Settings, tmp_path: Path, where: str
) -> None:
    command, file = begun(home, tmp_path), tmp_path / "stands"
    done = threading.Event()

    def lock_at_the_failpoint() -> None:
        while not file.exists():
            time.sleep(0.02)
        with locked(home):
            file.unlink()
            done.wait()

    locking = threading.Thread(target=lock_at_the_failpoint, daemon=True)
    locking.start()
    ended = ended_command(home, *command, **{VARIABLE: f"{where}:pause={file}"})
    done.set()
    locking.join()

    assert ended.returncode == 1
    step = where.partition(".")[0]
    assert f"{step}: failed: Source {NAME!r}: {TOLD}" in ended.stdout, ended.stderr[-4000:]
    assert "Traceback" not in ended.stderr
    assert names(home) == ["a"]
    lakehouse(home, *command)
    assert names(home) == ["b"]


@pytest.mark.further
def test_a_lease_that_could_not_be_renewed_once_is_renewed_when_the_catalog_is_back(
    home: Settings,
) -> None:
    Path(home.warehouse.removeprefix("file://")).mkdir(parents=True)
    leases = Leases(open_catalog(home), NAME)
    token = leases.take("slow")
    with leases.held(token, "slow", lone_step=False):
        before = leases.current()
        with locked(home):
            time.sleep(HEARTBEAT_S + BUSY_TIMEOUT_S + 1)
        until = time.monotonic() + 2 * HEARTBEAT_S
        while (now := leases.current()) == before:
            assert time.monotonic() < until, "the heart stopped with the first beat that failed"
            time.sleep(0.2)
    assert before is not None
    assert now == replace(before, expires_at_s=now.expires_at_s)
    assert now.expires_at_s > before.expires_at_s + TTL_S / 2
