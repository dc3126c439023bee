"""The command signal: asks a connector for a snapshot, stops, pauses or resumes one, follows it."""

from __future__ import annotations

import getpass
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import typer

from lakehouse.cli._recorded import open_ledger
from lakehouse.cli.steps import loaded, of_source
from lakehouse.config import Settings, SourceConfig, kafka_properties
from lakehouse.errors import NotYet, StepFailed
from lakehouse.names import parse_table
from lakehouse.plan.signals.conditions import parse_condition
from lakehouse.plan.signals.connector import Channel
from lakehouse.plan.signals.handover import Handover
from lakehouse.plan.signals.request import Action, Request, SnapshotType
from lakehouse.signalling.following import Follower
from lakehouse.signalling.requests import send
from lakehouse.signalling.seen import check_seen

Tables = Annotated[
    list[str] | None,
    typer.Option("--table", help="A table as in the TOML file: public.orders. Several times."),
]
Wheres = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Which rows: \"id > 100\", \"state in ('open', 'paid')\"; the table's name before the "
        "column where it is for one of several. Several times: all must hold.",
    ),
]
Raw = Annotated[
    str | None,
    typer.Option("--where-sql", help="A condition in the source's SQL, where its file allows it."),
]
Type = Annotated[
    SnapshotType,
    typer.Option("--type", help="incremental: while changes go on. blocking: nothing is streamed."),
]
SurrogateKey = Annotated[
    str | None, typer.Option("--surrogate-key", help="A column to order the rows by, not the key.")
]
Wish = Annotated[
    Channel | None,
    typer.Option("--channel", help="Default: the signal table, else the signal topic."),
]
Follow = Annotated[
    bool,
    typer.Option(
        "--follow/--no-follow",
        help="Wait until it is done, and its rows are published; or print the line that the "
        "command follow takes.",
    ),
]
Id = Annotated[
    str | None,
    typer.Option("--id", help="The signal's id: of one id no second one is sent. Default: new."),
]
Person = Annotated[
    str | None, typer.Option("--by", help="Who asks. Default: the user of this process.")
]
Patience = Annotated[
    float,
    typer.Option("--for", min=0, help="Follow for so many seconds; exit code 9 if it goes on."),
]

_A_DAY_S = 86_400.0


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    commands = typer.Typer(no_args_is_help=True)
    commands.callback()(of_source)
    commands.command("snapshot", help="Read tables, or some of their rows, again.")(_snapshot)
    commands.command("stop", help="Stop the incremental snapshot, or leave tables out.")(_stop)
    commands.command("pause", help="Let the incremental snapshot pause.")(_whole(Action.PAUSE))
    commands.command("resume", help="Let it go on.")(_whole(Action.RESUME))
    commands.command("follow", help="Follow a signal that was sent with --no-follow.")(_follow)
    app.add_typer(
        commands,
        name="signal",
        help="Signals to a source's connector: snapshots on demand.",
    )


def _snapshot(  # noqa: PLR0913 - the options of a command
    context: typer.Context,
    *,
    table: Tables = None,
    where: Wheres = None,
    where_sql: Raw = None,
    type_: Type = SnapshotType.INCREMENTAL,
    surrogate_key: SurrogateKey = None,
    channel: Wish = None,
    follow: Follow = True,
    id_: Id = None,
    by: Person = None,
) -> None:
    settings, source = loaded(context)
    request = Request(
        Action.SNAPSHOT,
        tuple(parse_table(text, source.connector) for text in table or ()),
        type_,
        tuple(parse_condition(text, source.connector) for text in where or ()),
        where_sql,
        surrogate_key,
        by or getpass.getuser(),
    )
    _run(settings, source, request, _Way(channel, id_, follows=follow))


def _stop(
    context: typer.Context,
    *,
    table: Tables = None,
    channel: Wish = None,
    follow: Follow = True,
    id_: Id = None,
    by: Person = None,
) -> None:
    settings, source = loaded(context)
    tables = tuple(parse_table(text, source.connector) for text in table or ())
    request = Request(Action.STOP, tables, person=by or getpass.getuser())
    _run(settings, source, request, _Way(channel, id_, follows=follow))


def _whole(action: Action) -> Callable[..., None]:
    """A command about the snapshot that runs, whatever its tables are."""

    def command(
        context: typer.Context,
        *,
        channel: Wish = None,
        follow: Follow = True,
        id_: Id = None,
        by: Person = None,
    ) -> None:
        settings, source = loaded(context)
        request = Request(action, person=by or getpass.getuser())
        _run(settings, source, request, _Way(channel, id_, follows=follow))

    return command


def _follow(
    context: typer.Context,
    sent: Annotated[str, typer.Argument(help="The line that `--no-follow` printed.")],
    patience: Patience = _A_DAY_S,
) -> None:
    settings, source = loaded(context)
    handover = Handover.from_json(sent)
    try:
        follower = _follower(settings, source, handover, patience)
    except StepFailed as missing:
        # A form may come before the first run: what it asks for is published by that one.
        raise NotYet(f"signal {handover.asked.signal_id} goes on: {missing}") from missing
    follower.run()


@dataclass(frozen=True, slots=True)
class _Way:
    """How a signal goes, and what comes after."""

    channel: Channel | None
    id: str | None
    follows: bool


def _run(settings: Settings, source: SourceConfig, request: Request, way: _Way) -> None:
    try:
        recorded = open_ledger(settings, source.name).schema_versions(source.name)
    except StepFailed:
        # Before the first run nothing is known, and nothing can be followed.
        if way.follows:
            raise
        recorded = ()
    for sentence in check_seen(request, source, recorded):
        typer.echo(sentence, err=True)
    sent = send(request, source, settings, way.channel, way.id or str(uuid.uuid4()))
    typer.echo(sent.told, err=not way.follows)
    if way.follows:
        _follower(settings, source, sent.handover, _A_DAY_S).run()
    else:
        typer.echo(sent.handover.to_json())


def _follower(
    settings: Settings, source: SourceConfig, handover: Handover, patience_s: float
) -> Follower:
    properties = kafka_properties(source, settings)
    ledger = open_ledger(settings, source.name)
    return Follower(handover, source, properties, ledger, patience_s, typer.echo)
