"""A Spark application in the foreground of a command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.plan.tuning import with_both_compilers

# What a shell gives of a command that a signal has ended, beside the signal's number.
_BY_SIGNAL = 128
# Java removes its scratch files as it ends.
_PATIENCE_S = 20.0
INTERRUPTED = _BY_SIGNAL + signal.SIGINT
"""The exit code where a person ended it."""
_SIGNALS = {each.value: each.name for each in signal.Signals}


def in_foreground(
    application: Path,
    arguments: Sequence[str],
    settings: Settings,
    handed: Mapping[str, str] | None = None,
    messages: int | None = 0,
) -> int:
    """Run one Spark application until it ends.

    Args:
        application: Its script.
        arguments: Its command line, which process lists show.
        settings: This process's settings; the application reads the same environment.
        handed: What it gets in its environment besides.
        messages: How many it parses, as far as that is known; None for not known.

    Returns:
        The application's exit code; where a signal ended it 128 and its number, as a shell gives:
        130 where a person did, 137 where the system did for want of memory.
    """
    environment = {**os.environ, **spark_environment(settings.home), **(handed or {})}
    environment |= with_both_compilers(environment, messages)
    command = ["spark-submit", str(application), *arguments]
    running = subprocess.Popen(command, env=environment)
    try:
        code = running.wait()
    except KeyboardInterrupt:
        _end(running)
        print("interrupted: what is published stays; do the command again", file=sys.stderr)
        return INTERRUPTED
    # Java ends by the signal; where the driver's Python did, spark-submit says so as shells do.
    code = code if code >= 0 else _BY_SIGNAL - code
    if name := _SIGNALS.get(code - _BY_SIGNAL):
        print(
            f"a process of Spark was ended by {name}, by somebody or for want of memory (`dmesg` "
            "tells): expected that it goes on to its end; what is published stays, nothing half "
            "written is read; do the command again",
            file=sys.stderr,
        )
    return code


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let an application end by itself; a second Ctrl-C does not wait for that."""
    # A terminal has sent it the same, which then changes nothing.
    process.send_signal(signal.SIGINT)
    with suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
        process.wait(_PATIENCE_S)
    process.kill()
    process.wait()
