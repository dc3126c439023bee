"""A command's Spark application, which a failpoint ends with SIGKILL."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from pathlib import Path

from lakehouse.cli._submitting import in_foreground
from lakehouse.failpoints import VARIABLE
from tests.support.runs import Runs

# What spark-submit makes of a driver that SIGKILL has ended.
_KILLED = 128 + signal.SIGKILL


def kill(
    runs: Runs, application: Path, arguments: Iterable[str], failpoint: str, **handed: str
) -> None:
    """Run an application in the home of a source until it dies at a failpoint.

    Args:
        runs: Whose home it is.
        application: The entry script.
        arguments: Its command line.
        failpoint: `STEP.POINT:NTH`.
        **handed: What it gets in its environment besides.
    """
    given = {"LAKEHOUSE_HOME": str(runs.settings.home), VARIABLE: f"{failpoint}:kill", **handed}
    code = in_foreground(application, list(arguments), runs.settings, given)
    assert code == _KILLED, f"{failpoint}: ended with {code}: expected that it dies there"
