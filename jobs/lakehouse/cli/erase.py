"""The command erase: one subject's rows, gone from everything that is kept of a table."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from lakehouse.cli._recorded import open_ledger
from lakehouse.cli._submitting import in_foreground
from lakehouse.cli.steps import Source, new_run_id
from lakehouse.config import Settings, SourceConfig, load_source
from lakehouse.errors import ConfigError
from lakehouse.plan.remaking.erasing import ERASURE, ERASURE_RUN, MAX_KEYS, Erasure, key_values
from lakehouse.plan.remaking.rebuilding import Rebuild, choose
from lakehouse.plan.submission import erasure_application
from lakehouse.spark.staging.properties import properties_of

Table = Annotated[str, typer.Option("--table", help="As in the TOML file: public.customers.")]
Keys = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        help='A key as JSON, such as {"id": 17}; may be given several times. Without one, keys are '
        "read from the standard input, one each line, so that no process list shows them.",
    ),
]
Person = Annotated[
    str | None, typer.Option("--by", help="Who asks for it. Default: the user of this process.")
]
ForgetKey = Annotated[
    bool,
    typer.Option(
        "--forget-key",
        help="The delete mark, which has the key and nothing else, goes too. An old event that is "
        "sent once more then brings its row back until its delete comes.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "erase",
        help="Take rows that the source has deleted out of bronze, silver, history, snapshots, "
        "control tables and reports. It cannot be undone: older cuts of the table are gone too.",
    )(_erase)


def _erase(
    source: Source,
    table: Table,
    key: Keys = None,
    by: Person = None,
    forget_key: ForgetKey = False,  # noqa: FBT002 - a command line option
) -> None:
    settings = Settings.from_environment()
    config = load_source(source, settings)
    keys = tuple(key or _from_input())
    if not 0 < len(keys) <= MAX_KEYS:
        raise ConfigError(f"--key: {len(keys)} keys: expected 1 to {MAX_KEYS}")
    _check(config, settings, table, keys)
    asked = Erasure(table, keys, by or getpass.getuser(), forget_key)
    raise typer.Exit(_submit(config, settings, asked))


def _check(source: SourceConfig, settings: Settings, table: str, keys: tuple[str, ...]) -> None:
    """What can be told without Spark is told at once."""
    ledger = open_ledger(settings, source.name)
    cut = ledger.newest_cut(source.name)
    if cut is None:
        return
    for silver in choose(cut, Rebuild((table,)), source.connector).tables:
        columns = properties_of(ledger.catalog, silver).key or ()
        for key in keys:
            key_values(key, columns)


def _from_input() -> list[str]:
    lines = typer.get_text_stream("stdin").read().splitlines()
    return [line for line in lines if line.strip()]


def _submit(source: SourceConfig, settings: Settings, asked: Erasure) -> int:
    run_id = new_run_id(ERASURE_RUN)
    arguments = ["--config", source.for_jobs(), "--run-id", run_id]
    handed = {ERASURE: asked.to_json()}
    return in_foreground(erasure_application(), arguments, settings, handed)
