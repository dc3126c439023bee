"""A signal by table whose database commits it and cannot say so: it is sent once."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infra.sources import SAMPLE_SOURCES, Engine
from lakehouse.config import load_source
from lakehouse.errors import SignalRefused
from lakehouse.failpoints import VARIABLE
from lakehouse.inspection.addresses import SIGNALS, signals_of
from tests.stack.conftest import Stack
from tests.stack.test_killed_senders import pause
from tests.support.valve import Valve, valve

_DEADLINE_S = 60
SOURCES = [name for name, each in SAMPLE_SOURCES.items() if each.engine is not Engine.MARIADB]


@pytest.fixture
def narrow(stack: Stack, source: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Valve]:
    """What stands between the sender and the database."""
    database = signals_of(load_source(source, stack.settings), stack.settings)
    assert database is not None
    with valve() as made:
        made.open()
        made.serve(database.port)
        names = ("user", "password", "database", "host")
        login = {name: getattr(database, name) for name in names} | {"port": made.port}
        monkeypatch.setenv(SIGNALS, json.dumps(login))
        yield made


def until(reached: Callable[[], object]) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("source", SOURCES)
def test_a_signal_whose_commit_is_not_answered_may_be_sent_and_is_not_sent_again(
    stack: Stack, source: str, narrow: Valve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    number, file = str(uuid.uuid4()), tmp_path / "about_to_commit"
    with ThreadPoolExecutor(1) as pool, monkeypatch.context() as standing:
        standing.setenv(VARIABLE, f"signal.before_commit:1:pause={file}")
        sender = pool.submit(pause, stack.settings, source, number)
        until(file.exists)
        narrow.close_after(1)
        file.unlink()
        until(lambda: narrow.is_closed)
        narrow.cut()
        with pytest.raises(SignalRefused) as ended:
            sender.result(_DEADLINE_S)
    narrow.open()
    assert "may be sent" in str(ended.value)
    assert number in str(ended.value)
    assert "is already in" in pause(stack.settings, source, number)
