"""Further cases: tests that `make soak` runs; `make test` leaves them out, and lists them.

A test is one by `@pytest.mark.further`: another of its kind runs in `make test`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.sampling import EVERY_CASE

_MARK = "further"
_left: dict[str, None] = {}


def pytest_configure(config: pytest.Config) -> None:
    """Makes the mark known."""
    config.addinivalue_line("markers", f"{_MARK}: `make soak` alone runs it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves them out unless every case is asked for."""
    further = [] if EVERY_CASE else [item for item in items if item.get_closest_marker(_MARK)]
    if not further:
        return
    items[:] = [item for item in items if item not in further]
    config.hook.pytest_deselected(items=further)
    _left.update(dict.fromkeys(item.nodeid for item in further))
    if hasattr(config, "workeroutput"):
        config.workeroutput[_MARK] = list(_left)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """With several processes, the one that prints hears of them from the others."""
    _left.update(dict.fromkeys(getattr(node, "workeroutput", {}).get(_MARK, ())))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints them."""
    for line in _lines():
        terminalreporter.write_line(line)


def _lines() -> Iterator[str]:
    if _left:
        yield f"{len(_left)} further cases are left to `make soak`:"
    yield from sorted(_left)
