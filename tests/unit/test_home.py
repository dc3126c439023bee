"""What runs create is closed to other users of the machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.demo.demo import run_demo
from infra.demo.home import alone, demo_settings, write_sources
from infra.errors import StackError
from infra.home import StackHome
from lakehouse.config import Settings

SOURCES = Path(__file__).resolve().parents[2] / "dags" / "sources"


def locked(home: Path) -> None:
    with StackHome(home).locked():
        pass


def shown(home: Path) -> None:
    demo = demo_settings(Settings.from_environment({"LAKEHOUSE_HOME": str(home)}))
    write_sources(demo, SOURCES, by_the_clock=True)


MAKERS = [lambda home: StackHome(home).prepare(), locked, shown]


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


@pytest.mark.parametrize("make", MAKERS, ids=["prepare", "lock", "demo"])
def test_a_new_home_is_its_owners_alone(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "new" / "home")
    assert mode(tmp_path / "new" / "home") == 0o700
    assert mode(tmp_path / "new") == 0o700


@pytest.mark.parametrize("make", MAKERS, ids=["prepare", "lock", "demo"])
def test_a_home_that_is_there_keeps_its_mode(make: Callable[[Path], None], tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    make(tmp_path)
    assert mode(tmp_path) == 0o750


def test_a_second_demonstration_leaves_the_first_one_alone(tmp_path: Path) -> None:
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    demo = demo_settings(settings)
    with alone(demo):
        demo.home.mkdir()
        refused = pytest.raises(StackError, match=rf"runs in '.*/demo' \(process {os.getpid()}\)")
        with refused:
            run_demo(settings, keep=False)
        assert demo.home.exists()
    with alone(demo):
        pass
