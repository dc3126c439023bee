"""What a failpoint does, how often it is passed until then, and what it does not understand."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lakehouse.errors import ConfigError
from lakehouse.failpoints import VARIABLE, FailpointReached, reach, within
from lakehouse.steps.together import together


def test_without_the_variable_nothing_happens(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    reach("before_write")


@pytest.mark.parametrize("name", ["apply.before_write", "*.before_write", "apply.*"])
def test_it_acts_the_nth_time_that_its_step_is_at_its_point(monkeypatch, name: str):
    monkeypatch.setenv(VARIABLE, f"{name}:2:raise")
    with within("land"):
        reach("after_commit")
    with within("apply"):
        reach("before_write")
        with pytest.raises(FailpointReached, match=r"failpoint apply\.before_write"):
            reach("before_write")
        reach("before_write")


def test_it_counts_anew_once_the_variable_was_gone(monkeypatch):
    for _ in range(2):
        monkeypatch.setenv(VARIABLE, "none.after_files:1:raise")
        with pytest.raises(FailpointReached):
            reach("after_files")
        monkeypatch.delenv(VARIABLE)
        reach("after_files")


def test_threads_of_a_step_belong_to_it_and_its_tables_have_points_between_them(
    monkeypatch, tmp_path: Path
):
    monkeypatch.setenv(VARIABLE, f"*.*:note={tmp_path / 'notes'}")
    with within("publish"):
        assert together(lambda number: (reach("before_commit"), number)[1], range(3)) == [0, 1, 2]
    with ThreadPoolExecutor() as pool:
        pool.submit(reach, "before_commit").result()
    assert sorted((tmp_path / "notes").read_text(encoding="utf-8").split()) == [
        "none.before_commit",
        *["publish.before_commit"] * 3,
        *["publish.between_tables"] * 3,
    ]


def test_it_waits_until_its_file_is_gone(monkeypatch, tmp_path: Path):
    file = tmp_path / "stands"
    monkeypatch.setenv(VARIABLE, f"none.after_lease:pause={file}")
    thread = threading.Thread(target=reach, args=("after_lease",))
    thread.start()
    while not (file.exists() and file.read_text(encoding="utf-8")):
        thread.join(0.01)
        assert thread.is_alive()
    file.unlink()
    thread.join(10)
    assert not thread.is_alive()


def test_it_ends_the_process_as_sigkill_does():
    text = "from lakehouse.failpoints import reach; reach('after_mirror'); print('alive')"
    ended = subprocess.run(
        [sys.executable, "-c", text],
        env={VARIABLE: "none.after_mirror"},
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (-9, b"")


@pytest.mark.parametrize(
    "text",
    [
        "apply",
        "apply.nowhere",
        ".after_commit",
        "apply.after_commit:0",
        "apply.after_commit:2:explode",
        "apply.after_commit:pause",
        "apply.after_commit:kill=file",
        "apply.after_commit:1:kill:more",
    ],
)
def test_what_is_no_failpoint_is_refused_with_what_is_expected(monkeypatch, text: str):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ConfigError, match=r"expected STEP\.POINT\[:NTH\]\[:ACTION\]"):
        reach("after_commit")
