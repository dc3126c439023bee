"""The command doctor: what breaks a promise on a source's way in."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from lakehouse.cli.steps import Source
from lakehouse.config import Settings, load_source
from lakehouse.inspection.examine import Examination, examine
from lakehouse.plan.doctor.findings import Level, exit_code, sentence

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "doctor",
        help="What breaks a promise in the source's connector, topics and database. "
        "Exit code 0: nothing, 1: warnings or not all seen, 2: a promise is broken.",
    )(_doctor)


def _doctor(source: Source, *, as_json: AsJson = False) -> None:
    settings = Settings.from_environment()
    found = examine(load_source(source, settings), settings)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=1))
    else:
        _print(source, found)
    raise typer.Exit(max(exit_code(found.findings), 1 if found.unseen else 0))


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
