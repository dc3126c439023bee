"""The command `demo`: the main job on real databases, from an empty folder."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Annotated

import typer

from infra.demo.demo import run_demo
from lakehouse.cli._submitting import INTERRUPTED
from lakehouse.config import Settings

# `kill` and a closed terminal end it as Ctrl-C does.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Keep = Annotated[
    bool, typer.Option("--keep/--no-keep", help="Stay up until Ctrl-C once all is equal.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("demo", help="Databases, Kafka, Airflow: run a workload and compare silver.")(_demo)


def _demo(*, keep: Keep = True) -> None:
    for number in _ENDING:
        signal.signal(number, _interrupt)
    try:
        code = run_demo(Settings.from_environment(), keep=keep)
    except KeyboardInterrupt:
        code = INTERRUPTED
    raise typer.Exit(code)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # A second Ctrl-C must not interrupt the stop of the stack: no process may stay.
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
