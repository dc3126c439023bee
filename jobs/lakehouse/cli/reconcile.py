"""The command reconcile: a source's database against its silver, down to the keys that differ."""

from __future__ import annotations

from typing import Annotated

import typer

from lakehouse.cli._submitting import in_foreground
from lakehouse.cli.steps import Source, new_run_id
from lakehouse.config import Settings, load_source
from lakehouse.names import format_table, parse_table
from lakehouse.plan.submission import RECONCILE_RUN, Run, reconcile_application, reconciliation
from lakehouse.reconciling.entry import source_database

Tables = Annotated[
    list[str] | None,
    typer.Option("--table", help="Only this table, as in the TOML file; may be given again."),
]

Repair = Annotated[
    bool,
    typer.Option(
        "--repair",
        help="Read the keys that differ again by an incremental snapshot of them alone; rows that "
        "the source does not have go from silver in a cut of their own.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "reconcile",
        help="Source against silver: counts and hashes of buckets, then the keys that differ. "
        "Exit code 0: equal, 1: not all compared or settled, 2: rows differ.",
    )(_reconcile)


def _reconcile(source: Source, table: Tables = None, *, repair: Repair = False) -> None:
    settings = Settings.from_environment()
    config = load_source(source, settings)
    # Before Spark starts, which takes its time.
    source_database(config, settings)
    tables = [format_table(parse_table(t, config.connector), config.connector) for t in table or ()]
    run = Run(run_id=new_run_id(RECONCILE_RUN))
    arguments = reconciliation(config, run, tables, repair=repair)
    raise typer.Exit(in_foreground(reconcile_application(), arguments, settings))
