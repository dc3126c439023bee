"""Commands that move messages: land, and archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lakehouse.cli._submitting import in_foreground
from lakehouse.cli.steps import Archive, RunId, Source, Until, new_run_id, submit
from lakehouse.config import Settings, kafka_properties, load_source
from lakehouse.errors import ConfigError
from lakehouse.plan.submission import JOBS_FOLDER, Run, iso

AcceptLoss = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-loss",
        metavar="TOPIC",
        help="Go on with what is there of this topic, although offsets are lost. May be repeated.",
    ),
]
Origin = Annotated[
    str, typer.Option("--from", help="kafka or bronze. Default: Kafka where its address is known.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("land", help="Land new messages of a source into bronze, each exactly once.")(_land)
    app.command("archive", help="Write a topic archive of a source, all topics at one moment.")(
        _archive
    )


def _land(
    source: Source,
    until: Until = None,
    archive: Archive = None,
    accept_loss: AcceptLoss = None,
    run_id: RunId = None,
) -> None:
    settings = Settings.from_environment()
    config = load_source(source, settings)
    if archive is None:
        kafka_properties(config, settings)  # A missing address is known before a JVM starts.
    if accept_loss:
        config = config.model_copy(update={"accept_loss": tuple(sorted(set(accept_loss)))})
    run = Run(run_id=run_id or new_run_id(), until=iso(until), archive=archive)
    raise typer.Exit(submit("land", config, settings, run))


def _archive(
    source: Source,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or an empty folder.")],
    origin: Origin = "",
) -> None:
    settings = Settings.from_environment()
    config = load_source(source, settings)
    if origin not in ("", "kafka", "bronze"):
        raise typer.BadParameter(f"{origin!r}: expected kafka or bronze")
    if not origin:
        try:
            kafka_properties(config, settings)
            origin = "kafka"
        except ConfigError:
            origin = "bronze"
    arguments = ["--config", config.for_jobs(), "--from", origin, str(folder.absolute())]
    raise typer.Exit(in_foreground(JOBS_FOLDER / "archive.py", arguments, settings))
