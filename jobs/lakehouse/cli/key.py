"""The command key: the steps of changing a table's primary key, each of which may be repeated."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from infra.errors import NotReady
from lakehouse.cli._recorded import open_ledger
from lakehouse.cli._submitting import in_foreground
from lakehouse.cli.steps import loaded, of_source
from lakehouse.config import Settings, SourceConfig
from lakehouse.errors import KeyChangeRefused
from lakehouse.inspection.addresses import START_CONNECT
from lakehouse.plan.submission import rekeying_application
from lakehouse.reconciling.entry import source_database
from lakehouse.rekeying.connector import source_connector
from lakehouse.rekeying.table import Rekeying, open_rekeying

Table = Annotated[str, typer.Option("--table", help="As in the TOML file: public.orders.")]
Patience = Annotated[
    float, typer.Option("--for", min=0, help="Wait for so many seconds; exit code 9 if it goes on.")
]
Person = Annotated[
    str | None, typer.Option("--by", help="Who changed the key. Default: this process's user.")
]
_AN_HOUR_S, _TWO_MINUTES_S = 3_600.0, 120.0


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    commands = typer.Typer(no_args_is_help=True)
    commands.callback()(of_source)
    commands.command("drain", help="Wait until all rows of a table are published.")(_drain)
    commands.command("stop", help="Stop the connector; what it has read stays in Kafka.")(
        _connector(stops=True)
    )
    commands.command("follow", help="Give silver the key that the table has now.")(_follow)
    commands.command("restart", help="Let the connector run again.")(_connector(stops=False))
    app.add_typer(
        commands,
        name="key",
        help="Change a primary key: pause writers, drain, stop, change it, follow, restart.",
    )


def _drain(context: typer.Context, table: Table, patience: Patience = _AN_HOUR_S) -> None:
    with _answers():
        drained = _opened(context, table).drain(patience)
    typer.echo(f"all rows of {table} are in cut {drained.cut}", err=True)
    typer.echo(drained.to_json())


def _follow(
    context: typer.Context,
    drained: Annotated[str, typer.Argument(help="The line that `drain` printed.")],
    by: Person = None,
) -> None:
    settings, source = _loaded(context)
    options = ["--config", source.for_jobs(), "--drained", drained]
    options += ["--by", by or getpass.getuser()]
    raise typer.Exit(in_foreground(rekeying_application(), options, settings))


def _connector(*, stops: bool) -> Callable[..., None]:
    def command(context: typer.Context, patience: Patience = _TWO_MINUTES_S) -> None:
        settings, source = _loaded(context)
        with _answers():
            found = source_connector(source, settings)
            typer.echo((found.stop if stops else found.restart)(patience))

    return command


def _opened(context: typer.Context, table: str) -> Rekeying:
    settings, source = _loaded(context)
    sides = source_database(source, settings), source_connector(source, settings)
    return open_rekeying(source, settings, open_ledger(settings, source.name), table, sides)


def _loaded(context: typer.Context) -> tuple[Settings, SourceConfig]:
    settings, source = loaded(context)
    if source.connector != "postgresql":
        raise KeyChangeRefused(
            f"source {source.name!r}: connector {source.connector!r}: expected 'postgresql', whose "
            "events do not say which key they were written under"
        )
    return settings, source


@contextmanager
def _answers() -> Iterator[None]:
    """A server that gives no answer is an error of the project's own."""
    try:
        yield
    except NotReady as silent:
        raise KeyChangeRefused(f"{silent}: expected an answer; {START_CONNECT}") from silent
