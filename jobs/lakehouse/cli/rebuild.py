"""The command rebuild: silver again from bronze, compared, and put in the place of the old."""

from __future__ import annotations

from typing import Annotated

import typer

from lakehouse.cli._recorded import open_ledger, refuse_unknown
from lakehouse.cli.steps import RunId, Source, new_run_id, submit
from lakehouse.config import Settings, load_source
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.plan.submission import REBUILD_RUN, Run

Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        help="This table alone, as in the TOML file: public.orders; may be given several times. "
        "Default: all tables of the source.",
    ),
]
Undo = Annotated[
    bool,
    typer.Option("--undo", help="Put back what the newest rebuild replaced, with what came since."),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "rebuild",
        help="Make silver tables again from bronze with today's code and TOML file, while runs go "
        "on; compare them with the running ones, validate those that differ, and publish them in "
        "their place. Exit code 0: done, 1: a table stays as it is, or warnings, 2: critical.",
    )(_rebuild)


def _rebuild(
    source: Source,
    table: Tables = None,
    undo: Undo = False,  # noqa: FBT002 - a command line option
    run_id: RunId = None,
) -> None:
    settings = Settings.from_environment()
    config = load_source(source, settings)
    open_ledger(settings, source)  # Without a catalog, no JVM has anything to do.
    refuse_unknown(settings, config, table or ())
    run = Run(
        run_id=run_id or new_run_id(REBUILD_RUN),
        from_step="apply",
        rebuild=Rebuild(tuple(table or ()), undo=undo),
    )
    raise typer.Exit(submit(None, config, settings, run))
