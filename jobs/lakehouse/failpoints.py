"""Failpoints: named places at which a test tells a process to die, to fail or to wait.

In: `LAKEHOUSE_FAILPOINT` in the environment, such as `publish.after_commit:2:kill`. Out: what it
says, the second time that the step publish is behind a commit. Without it a failpoint does nothing.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from lakehouse.errors import ConfigError

VARIABLE = "LAKEHOUSE_FAILPOINT"
Point: TypeAlias = Literal[
    "after_lease",  # the lease of the source is taken
    "before_write",  # rows are worked out, no file of them is written
    "after_files",  # the files are written, the catalog does not know them
    "before_commit",  # a change of metadata is about to be made, or a signal sent
    "after_commit",  # the catalog has the change, or the connector's channel the signal
    "between_tables",  # a table of several is done
    "after_mirror",  # the step's row is in `quality.runs`
]
POINTS: tuple[Point, ...] = get_args(Point)
_ACTIONS = ("kill", "raise", "pause", "note")
_EXPECTED = f"STEP.POINT[:NTH][:ACTION] with an action {', '.join(_ACTIONS)} (the last two =FILE)"
_POLL_S = 0.02
_STEP: ContextVar[str] = ContextVar("step", default="none")


class FailpointReached(RuntimeError):
    """Raised where a failpoint says so; no error of the project's own."""


@contextmanager
def within(step: str) -> Iterator[None]:
    """Name the step that this thread does; `lakehouse.steps.together` hands it to its threads."""
    token = _STEP.set(step)
    try:
        yield
    finally:
        _STEP.reset(token)


def reach(point: Point) -> None:
    """This thread is at a named point of its step.

    Raises:
        FailpointReached: The environment says so.
        ConfigError: The environment has something that no failpoint understands.
    """
    text = os.environ.get(VARIABLE)
    if not text:
        # Whoever sets the same text again counts from the start.
        _armed.cache_clear()
    elif (armed := _armed(text)).is_due(f"{_STEP.get()}.{point}"):
        _act(armed, f"{_STEP.get()}.{point}")


@dataclass(slots=True)
class _Armed:
    """A failpoint that is set.

    Attributes:
        name: Step and point, each of which may be `*`.
        left: How often it is passed until then, from 1; of 0 each time counts.
        action: One of `_ACTIONS`.
        file: Of `pause`, there while the thread waits; of `note`, what names are written to.
    """

    name: str
    left: int
    action: str
    file: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def is_due(self, name: str) -> bool:
        """Whether it acts here, now."""
        pairs = zip(self.name.split("."), name.split("."), strict=True)
        if not all(wanted in ("*", found) for wanted, found in pairs):
            return False
        if self.action == "note":
            return True
        with self.lock:
            self.left -= 1
            return self.left == 0


@cache
def _armed(text: str) -> _Armed:
    name, *more = text.split(":")
    nth = int(more.pop(0)) if more and more[0].isdigit() else 1
    action, _, file = (more.pop(0) if more else "kill").partition("=")
    step, _, point = name.partition(".")
    is_known = bool(step) and (point in POINTS or point == "*") and action in _ACTIONS
    if more or nth < 1 or not is_known or (action in ("pause", "note")) is not bool(file):
        raise ConfigError(f"{VARIABLE}={text!r}: expected {_EXPECTED}, points {', '.join(POINTS)}")
    return _Armed(name, nth, action, file)


def _act(armed: _Armed, name: str) -> None:
    if armed.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if armed.action == "raise":
        raise FailpointReached(f"failpoint {name} is set to fail by {VARIABLE}")
    if armed.action == "note":
        with armed.lock, Path(armed.file).open("a", encoding="utf-8") as notes:
            notes.write(name + "\n")
    if armed.action == "pause":
        file = Path(armed.file)
        file.write_text(name, encoding="utf-8")
        while file.exists():
            time.sleep(_POLL_S)
