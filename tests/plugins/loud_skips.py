"""A skipped test is named at the end of the run, and in CI (`CI=true`) it fails the run."""

import os
from collections.abc import Iterator

import pytest

_skipped: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Notes a test that was skipped; an expected failure is not one."""
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped[report.nodeid] = _reason(report.longrepr)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Notes a module that skips itself."""
    if report.skipped:
        _skipped[report.nodeid] = _reason(report.longrepr)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run in CI, where everything that tests need is there."""
    if _skipped and _in_ci() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints each skipped test with its reason."""
    if not _skipped:
        return
    terminalreporter.section("skipped tests", yellow=True)
    for line in _lines():
        terminalreporter.write_line(line)


def _lines() -> Iterator[str]:
    for test, reason in sorted(_skipped.items()):
        yield f"{test}: {reason}"
    if _in_ci():
        yield f"{len(_skipped)} skipped: in CI this fails the run"


def _in_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")


def _reason(longrepr: object) -> str:
    # A skip's representation is (path, line, reason).
    text = str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)
    return text.removeprefix("Skipped: ")
