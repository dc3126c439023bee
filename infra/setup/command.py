"""Runs the programs that the set-up needs, says what it does and keeps their output for errors."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from infra.setup.errors import SetupError

_SHOWN_LINES = 15


def say(text: str) -> None:
    """Prints one line of progress."""
    print(f"[setup] {text}", flush=True)


def succeeds(command: Sequence[str | Path], environment: Mapping[str, str]) -> bool:
    """Runs a command without showing its output; True if it ended with 0."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def run(command: Sequence[str | Path], environment: Mapping[str, str], advice: str) -> None:
    """Runs a command that shows its own progress.

    Raises:
        SetupError: it did not end with 0; `advice` says what to do then.
    """
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise SetupError(f"{_name(command)} ended with {done.returncode} (see above): {advice}")


def output(
    command: Sequence[str | Path], advice: str, environment: Mapping[str, str] | None = None
) -> str:
    """Runs a command and returns what it prints.

    Raises:
        SetupError: it cannot be started or did not end with 0; `advice` says what to do then.
    """
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except OSError as error:
        raise SetupError(f"{_name(command)} cannot be started ({error}): {advice}") from error
    if done.returncode != 0:
        shown = "\n".join(done.stdout.splitlines()[-_SHOWN_LINES:])
        raise SetupError(f"{_name(command)} ended with {done.returncode}: {advice}\n{shown}")
    return done.stdout


def python_name() -> str:
    """The running Python, for messages."""
    return f"Python {sys.version_info.major}.{sys.version_info.minor} ({sys.executable})"


def _name(command: Sequence[str | Path]) -> str:
    return " ".join(str(part) for part in command[:3])
