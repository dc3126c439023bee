"""Every error that the project raises on purpose, with the exit code a command ends with.

    LakehouseError
    ├── ConfigError          a TOML file, an environment variable or an argument is wrong
    ├── LandingRefused       landing would lose, repeat or mix up messages
    ├── KafkaUnreachable     no broker answers, or none lets this login do what it asks for
    ├── ArchiveError         a topic archive cannot be read as one
    ├── MainMoved            a staged branch no longer starts at `main`
    ├── Superseded           another run holds, or took, the lease of the source
    └── StepFailed           a step ended without the state that the next one needs

A message says what failed, the value, what was expected and what to do next.
"""

from __future__ import annotations

_CALL_OF_JAVA = "An error occurred while calling "


class LakehouseError(Exception):
    """Base of all errors that are shown to a person without a traceback."""

    exit_code = 1


class ConfigError(LakehouseError):
    """A TOML file, an environment variable or an argument is wrong."""

    exit_code = 2


class LandingRefused(LakehouseError):
    """Landing would lose, repeat or mix up messages; nothing was landed."""

    exit_code = 3


class ArchiveError(LakehouseError):
    """A topic archive cannot be read as one; nothing was landed."""

    exit_code = 3


class KafkaUnreachable(LakehouseError):
    """No broker answered, or none let this login do what it asked for; nothing was landed."""

    exit_code = 7


class MainMoved(LakehouseError):
    """A staged branch no longer starts at the table's `main`: stage again."""

    exit_code = 5


class Superseded(LakehouseError):
    """Another run holds, or took, the lease of the source; this one changed nothing."""

    exit_code = 6


class StepFailed(LakehouseError):
    """A step ended without the state that the next one needs."""


class SignalRefused(LakehouseError):
    """A signal cannot be sent, or would not do what was asked for; where it may be, it says so."""

    exit_code = 3


class KeyChangeRefused(LakehouseError):
    """A key cannot change so, or silver cannot follow; nothing was changed."""

    exit_code = 3


class SnapshotFailed(LakehouseError):
    """What a signal asked for did not happen, or not to all tables."""


class NotYet(LakehouseError):
    """What is followed goes on; it can be followed again."""

    exit_code = 9


def first_line(error: BaseException) -> str:
    """What kind of error it is and the first line of what it says.

    Of an error of Java's it is what Java says: py4j's own line names the call alone.
    """
    lines = str(error).strip().splitlines() or ["no message"]
    is_of_java = lines[0].startswith(_CALL_OF_JAVA) and len(lines) > 1
    return f"{type(error).__name__}: {lines[1].lstrip(': ') if is_of_java else lines[0]}"
