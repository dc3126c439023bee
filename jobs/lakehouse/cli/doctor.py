"""The command doctor: what breaks a promise on a source's way in or in its tables, and repairs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from lakehouse.cli.steps import Source, new_run_id, submit
from lakehouse.config import Settings, SourceConfig, load_source
from lakehouse.inspection.examine import Examination, examine
from lakehouse.inspection.repairing import repair
from lakehouse.plan.doctor.findings import Level, exit_code, sentence
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.plan.submission import MAINTENANCE_RUN, REBUILD_RUN, Run
from lakehouse.spark.control.ledger import Ledger

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Repairs = Annotated[
    bool,
    typer.Option(
        "--repair",
        help="Mend Iceberg tables of which files are missing or torn: point the catalog back to "
        "the metadata before, take back commits whose files are gone, make silver again from "
        "bronze. Then look again.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "doctor",
        help="What breaks a promise in the source's connector, topics, database and tables. "
        "Exit code 0: nothing, 1: warnings or not all seen, 2: a promise is broken.",
    )(_doctor)


def _doctor(
    source: Source,
    *,
    repairs: Repairs = False,
    as_json: AsJson = False,
) -> None:
    settings = Settings.from_environment()
    config = load_source(source, settings)
    if repairs:
        _repair(config, settings)
    found = examine(config, settings)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=1))
    else:
        _print(source, found)
    raise typer.Exit(max(exit_code(found.findings), 1 if found.unseen else 0))


def _repair(source: SourceConfig, settings: Settings) -> None:
    """Mend what the catalog can, and make the rest again from bronze."""
    done, left = repair(source, Ledger(settings), new_run_id(MAINTENANCE_RUN))
    for line in done or ["nothing to mend in the catalog"]:
        typer.echo(line, err=True)
    if left:
        run = Run(new_run_id(REBUILD_RUN), from_step="apply", rebuild=Rebuild(left))
        submit(None, source, settings, run)


def _print(source: str, found: Examination) -> None:
    order = sorted(found.findings, key=lambda finding: finding.level is not Level.BREAKS)
    for finding in order:
        typer.echo(sentence(finding) + "\n")
    breaking = sum(finding.level is Level.BREAKS for finding in order)
    typer.echo(
        f"{source}: {breaking} break a promise, {len(order) - breaking} warnings; "
        f"looked at: {', '.join(found.looked_at) or 'nothing'}"
    )
    for missing in found.unseen:
        typer.echo(f"not seen: {missing}")
