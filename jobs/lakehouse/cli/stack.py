"""Commands of the local stack: up, down, status. None of them shows a secret."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from functools import partial
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from infra.sources import SAMPLE_SOURCES
from infra.stack import down, up
from infra.status import StackStatus, status
from lakehouse.cli.report import print_columns
from lakehouse.config import Settings
from lakehouse.plan.cuts.lag import SourceLag, TableLag, seconds_behind
from lakehouse.plan.cuts.lag_words import duration_text, lag_sentence
from lakehouse.plan.event_position import shown_position
from lakehouse.quality.reports.text import shown

AIRFLOW = "airflow"
_PARTS = (*SAMPLE_SOURCES, AIRFLOW)

Only = Annotated[
    list[str] | None,
    typer.Option("--only", help=f"Start only this part: {', '.join(_PARTS)}. May be repeated."),
]
Partitions = Annotated[
    int, typer.Option("--partitions", min=1, help="Partitions of new data topics.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("up", help="Start the local stack; what runs already stays as it is.")(_up)
    app.command("down", help="Stop the local stack and everything that it started.")(_down)
    app.command(
        "status",
        help="Show what runs where, the connectors, and how far each table is behind.",
    )(_status)


def _up(*, only: Only = None, partitions: Partitions = 1) -> None:
    chosen = tuple(only or _PARTS)
    unknown = [part for part in chosen if part not in _PARTS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r}: expected one of {', '.join(_PARTS)}")
    # `kill` ends it as Ctrl-C does: what was started is stopped.
    signal.signal(signal.SIGTERM, _interrupt)
    up(
        Settings.from_environment(),
        sources=tuple(name for name in SAMPLE_SOURCES if name in chosen),
        airflow=AIRFLOW in chosen,
        data_partitions=partitions,
        report=typer.echo,
    )


def _down() -> None:
    stopped = down(Settings.from_environment(), report=typer.echo)
    typer.echo(f"{len(stopped)} servers stopped")


def _status() -> None:
    found = status(Settings.from_environment())
    console = Console()
    if found.servers:
        console.print(_servers(found))
    else:
        console.print("Nothing runs; start it with `lakehouse up`")
    if found.state.sources:
        console.print(_sources(found))
    for lag in found.lags:
        _print_lag(console, lag, found.quarantined.get(lag.source, ""))
    if found.state.airflow:
        airflow = found.state.airflow
        console.print(f"Airflow: {airflow.url} as {airflow.user}: see {airflow.password_file}")
    for problem in found.problems:
        console.print(problem, style="red")


def _servers(found: StackStatus) -> Table:
    table = _table("server", "state", "process", "port", "log")
    for server in found.servers:
        state = "runs" if server.is_running else "[red]ended"
        table.add_row(
            server.name,
            state,
            str(server.pid or ""),
            str(server.port or ""),
            str(server.log),
        )
    return table


def _sources(found: StackStatus) -> Table:
    table = _table("source", "database", "user", "connector", "tasks")
    connectors = {connector.name: connector for connector in found.connectors}
    for name, database in sorted(found.state.sources.items()):
        connector = connectors.get(name)
        table.add_row(
            name,
            f"{database.engine} {database.host}:{database.port}/{database.database}",
            database.user,
            connector.connector if connector else "",
            ", ".join(connector.tasks) if connector else "",
        )
    return table


def _print_lag(console: Console, lag: SourceLag, quarantined: str) -> None:
    cut = f"cut {lag.cut}" if lag.cut else "no cut yet"
    console.print(f"\n{lag.source}, {cut}: {lag_sentence(lag)}", markup=False, highlight=False)
    if quarantined:
        told = f"{quarantined} in quarantine, of which the cut has nothing"
        console.print(f"{told}: see `lakehouse report --source {lag.source}`", style="yellow")
    if lag.unseen:
        console.print(f"Kafka was not read: {lag.unseen}", style="red", markup=False)
    if lag.tables:
        header = ("table", "silver", "waiting", "for", "published position", "in Kafka", "held")
        print_columns(header, map(partial(_waiting, lag), lag.tables))


def _waiting(lag: SourceLag, table: TableLag) -> Sequence[str]:
    """What waits for a table, and how far the source's log is published and in Kafka."""
    seconds = seconds_behind(table.waits_since, table.messages, lag.as_of)
    return (
        shown(table.table),
        table.silver.rpartition(".")[2] or "-",
        f"{table.messages:,}",
        "-" if not seconds else duration_text(seconds),
        shown_position(table.published) or "-",
        shown_position(table.position) or "-",
        shown(table.held),
    )


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
