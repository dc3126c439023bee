"""Figures that tests measure, printed at the end of the run.

A test tells one through the fixture `figure`; with several processes only the reports of tests
reach the one that prints.
"""

from collections.abc import Callable

import pytest

_FIGURE = "figure"
_found: dict[str, None] = {}


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Call it with one line of text."""
    return lambda line: record_property(_FIGURE, line)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Notes the figures of a test; each phase's report repeats them."""
    for name, line in report.user_properties:
        if name == _FIGURE:
            _found[str(line)] = None


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the figures."""
    if _found:
        terminalreporter.section("figures")
    for line in _found:
        terminalreporter.write_line(line)
