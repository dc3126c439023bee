"""The command approve: what a person decides about a table that a schema change holds."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from typing import Annotated

import typer

from lakehouse.cli._recorded import open_ledger
from lakehouse.cli.steps import Source
from lakehouse.config import Settings, load_source
from lakehouse.errors import ConfigError
from lakehouse.names import parse_table
from lakehouse.plan.records import HOLD, SCHEMA_VERSIONS
from lakehouse.quality.schemas.decisions import Decision, Pair, decide

Table = Annotated[
    str, typer.Option("--table", help="The held table as in the TOML file: public.orders.")
]
Reject = Annotated[bool, typer.Option("--reject", help="It stays held, whatever the mode.")]
Renames = Annotated[
    list[str] | None,
    typer.Option(
        "--rename",
        metavar="OLD=NEW",
        help="A column that went and came is one that was renamed; may be given several times.",
    ),
]
Person = Annotated[
    str | None, typer.Option("--by", help="Who decides. Default: the user of this process.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "approve",
        help="Release a table that a schema change holds, from the next run on: silver follows the "
        "change, and a column keeps its type where a new one does not fit it.",
    )(_approve)


def _approve(
    source: Source,
    table: Table,
    reject: Reject = False,  # noqa: FBT002 - a command line option
    rename: Renames = None,
    by: Person = None,
) -> None:
    settings = Settings.from_environment()
    config, ledger = load_source(source, settings), open_ledger(settings, source)
    if reject and rename:
        raise ConfigError("--reject --rename: expected one of them: a rename is followed")
    decision = Decision(
        table,
        by or getpass.getuser(),
        datetime.now(UTC),
        is_approved=not reject,
        renames=tuple(_pair(text) for text in rename or ()),
    )
    policy = config.schema_changes_of(parse_table(table, config.connector))
    rows = decide(ledger.schema_versions(source), config.connector, policy, decision)
    ledger.append(SCHEMA_VERSIONS, rows)
    for row in rows:
        typer.echo(f"{table}: {', '.join(row.change_kinds)}: {row.reason}")
    if rows[-1].verdict != HOLD:
        typer.echo(f"`lakehouse run --source {source}`, or the next run of its Dag, goes on")


def _pair(text: str) -> Pair:
    was, _, name = text.partition("=")
    if not was or not name:
        raise ConfigError(f"--rename {text!r}: expected OLD=NEW, the names of two columns")
    return was, name
