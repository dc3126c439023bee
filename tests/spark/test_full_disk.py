"""A full disk: the run fails, what is published stays readable, and the next run goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.debezium import Postgres, Table, column
from tests.support.full_disk import NAME

# A file system of its own, for one process, without root.
PRIVATE = ["unshare", "--user", "--map-root-user", "--mount"]
MOUNT = 'mount -t tmpfs -o size=256m tmpfs "$1" && shift && exec "$@"'
ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])


def test_a_full_disk_fails_the_run_and_loses_nothing(tmp_path: Path) -> None:
    if subprocess.run([*PRIVATE, "mount", "-t", "tmpfs", "x", "/mnt"], check=False).returncode:
        pytest.skip("no small disk: expected `unshare --user --mount` and mount to be allowed")
    source, home = Postgres(NAME), tmp_path / "home"
    home.mkdir()
    source.snapshot(ORDERS, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    first = source.archive(tmp_path / "first")
    source.transact((ORDERS, "u", None, {"id": 2, "name": "c"}))
    second = source.archive(tmp_path / "second")

    command = [sys.executable, "-m", "tests.support.full_disk", home, first, second]
    ended = subprocess.run(
        [*PRIVATE, "sh", "-c", MOUNT, "sh", home, *command],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )

    assert ended.returncode == 0, ended.stderr[-4000:]
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["first"] == ""
    assert found["full"]
    assert found["while_full"] == {"rows": [[1, "a"], [2, "b"]], "cuts": ["00000001"]}
    assert found["again"] == ""
    assert found["after"]["rows"] == [[1, "a"], [2, "c"]]
