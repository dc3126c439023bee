"""How log lines are written: what they are told, and of an error where it comes from.

structlog's own default prints the variables of a traceback where `rich` is installed, and so would
show settings with their passwords: https://www.structlog.org/en/stable/exceptions.html
"""

from __future__ import annotations

import sys

import structlog
from structlog.dev import ConsoleRenderer, plain_traceback


def configure() -> None:
    """Log to standard output, in colours on a terminal, without the variables of a traceback."""
    renderer = ConsoleRenderer(colors=sys.stdout.isatty(), exception_formatter=plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], renderer])
