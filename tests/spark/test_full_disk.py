"""A full disk: the run fails, what is published stays readable, and the next run goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.debezium import Postgres, Table, column
from tests.support.full_disk import NAME

# A file system of its own, for one process, without root.
PRIVATE = ["unshare", "--user", "--map-root-user", "--mount"]
MOUNT = 'mount -t tmpfs -o size=256m tmpfs "$1" && shift && exec "$@"'
ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])


OLD, NEW = [[1, "a"], [2, "b"]], [[1, "a"], [2, "c"]]
# Two rows of the snapshot and one update, which has a transaction's begin and end.
ROWS_OF_ONE, ENDS = f"{NAME}.public.orders", f"{NAME}.transaction"
FIRST = [[ROWS_OF_ONE, 0], [ROWS_OF_ONE, 1]]
ALL = [*FIRST, [ROWS_OF_ONE, 2], [ENDS, 0], [ENDS, 1]]
TOLD = f"Source {NAME!r}: the disk is full: expected room for data files"


def on_a_small_disk(folder: Path, *work: str) -> dict[str, Any]:
    """What `tests.support.full_disk` prints."""
    if subprocess.run([*PRIVATE, "mount", "-t", "tmpfs", "x", "/mnt"], check=False).returncode:
        pytest.skip("no small disk: expected `unshare --user --mount` and mount to be allowed")
    source, home = Postgres(NAME), folder / "home"
    home.mkdir()
    source.snapshot(ORDERS, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    first = source.archive(folder / "first")
    source.transact((ORDERS, "u", None, {"id": 2, "name": "c"}))
    second = source.archive(folder / "second")
    command = [sys.executable, "-m", "tests.support.full_disk", home, first, second, *work]
    ended = subprocess.run(
        [*PRIVATE, "sh", "-c", MOUNT, "sh", home, *command],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    assert found["first"] == ""
    return found


@pytest.mark.parametrize(
    ("failpoint", "steps", "landed"),
    [
        # How far a run gets whose disk was full before depends on what a commit leaves.
        pytest.param("", "land check", (FIRST, ALL), marks=pytest.mark.further),
        pytest.param("land.before_write:1", "land", (FIRST,), marks=pytest.mark.further),
        # The messages lie on a branch.
        pytest.param("land.before_commit:2", "land", (FIRST,), marks=pytest.mark.further),
        # They are landed, and the step's row is about to say so.
        pytest.param("land.after_files:1", "land", (ALL,), marks=pytest.mark.further),
        ("apply.before_write:1", "apply", (ALL,)),
        pytest.param("apply.before_commit:1", "apply", (ALL,), marks=pytest.mark.further),
    ],
)
def test_a_disk_that_fills_fails_the_run_and_loses_nothing(
    tmp_path: Path, failpoint: str, steps: str, landed: tuple[list[list[Any]], ...]
) -> None:
    found = on_a_small_disk(tmp_path, "run", failpoint)

    step, _, told = found["full"].partition(": ")
    assert step in steps.split()
    assert told.startswith(TOLD)
    assert found["while_full"].pop("landed") in landed
    assert found["while_full"] == {"rows": OLD, "cuts": ["00000001"]}
    assert found["again"] == ""
    assert (found["after"]["rows"], found["after"]["landed"]) == (NEW, ALL)


@pytest.mark.further
@pytest.mark.parametrize("failpoint", ["maintain.before_write:1", "maintain.before_commit:1"])
def test_a_disk_that_fills_fails_maintenance_and_changes_no_row(
    tmp_path: Path, failpoint: str
) -> None:
    found = on_a_small_disk(tmp_path, "maintain", failpoint)

    assert found["second"] == ""
    assert found["full"].startswith("maintain: "), found["full"]
    assert TOLD in found["full"]
    assert found["while_full"] == found["after"]
    assert found["after"]["rows"] == NEW
    assert found["again"] == ""
