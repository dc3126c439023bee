"""Commands that run steps: check, apply, validate, publish and run, each one Spark application."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from lakehouse.cli._recorded import messages_of, open_ledger, refuse_unknown
from lakehouse.cli._submitting import in_foreground
from lakehouse.config import Settings, SourceConfig, kafka_properties, load_source
from lakehouse.errors import StepFailed
from lakehouse.plan.records import STEPS, Step
from lakehouse.plan.submission import FULL_RUN, MAINTENANCE_RUN, Run, application, arguments, iso
from lakehouse.plan.tuning import PARSING


def _time(text: str) -> datetime:
    """A time from the command line, in UTC or with its zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise typer.BadParameter(f"{text!r}: expected a time such as 2026-01-31T08:00:00Z")
    return time


Source = Annotated[str, typer.Option("--source", help="The source: its TOML file's name.")]
SourceOfAll = Annotated[
    str | None, typer.Option("--source", help="The source: its TOML file's name; always needed.")
]
RunId = Annotated[
    str | None,
    typer.Option(
        "--run-id",
        help="Go on with this run; a name that no run has begins one. "
        "Default: the newest one; a new one where a run begins.",
    ),
]
Until = Annotated[
    datetime | None,
    typer.Option(
        "--until",
        help="End of the data interval (exclusive, UTC).",
        parser=_time,
        metavar="TIME",
    ),
]
From = Annotated[
    datetime | None,
    typer.Option(
        "--from",
        help="Also make the rows again, from bronze, that messages between here (UTC) and --until "
        "touch, and publish those that differ.",
        parser=_time,
        metavar="TIME",
    ),
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        help="With --from: rows of this table alone, as in the TOML file: public.orders; may be "
        "given several times. Default: all tables of the source.",
    ),
]
Archive = Annotated[
    Path | None, typer.Option("--archive", help="Land from this topic archive, not from Kafka.")
]
FromStep = Annotated[str, typer.Option("--from-step", help=f"Start at one of {', '.join(STEPS)}.")]
Full = Annotated[
    bool, typer.Option("--full", help="All rows of the newest published cut, not a run's batch.")
]
LandDecides = Annotated[
    bool, typer.Option("--land-decides", help="Exit with landing's code alone; the Dag uses it.")
]

_SUMMARIES: dict[Step, str] = {
    "check": "Record the schemas that landed and judge their changes.",
    "apply": "Turn landed change events into row changes on a staged branch.",
    "publish": "Make the staged rows one published cut of the whole source.",
}
_VALIDATE = "Judge the staged rows with the expectation suites; all rows with --full."


def of_source(context: typer.Context, source: SourceOfAll = None) -> None:
    """Of a group of commands: keeps the source's name, without which they only tell their help."""
    context.obj = source


def loaded(context: typer.Context) -> tuple[Settings, SourceConfig]:
    """The settings, and the source that a command of such a group is about.

    Raises:
        BadParameter: No source is named.
    """
    if context.obj is None:
        raise typer.BadParameter("missing: expected it before the command", param_hint="--source")
    settings = Settings.from_environment()
    return settings, load_source(str(context.obj), settings)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for step, summary in _SUMMARIES.items():
        app.command(step, help=summary)(_step_command(step))
    app.command("validate", help=_VALIDATE)(_validate)
    app.command("run", help="All five steps of a source in one Spark application.")(_run)


def submit(step: Step | None, source: SourceConfig, settings: Settings, run: Run) -> int:
    """Run one Spark application in the foreground.

    Args:
        step: The step, or None for all five.
        source: The source.
        settings: This process's settings; the application reads the same environment.
        run: The run's arguments.

    Returns:
        The application's exit code; 130 where a person ended it.
    """
    reads = step is None or step in PARSING
    messages = messages_of(settings, source, run) if reads and not run.replay else 0
    return in_foreground(application(step), arguments(source, run), settings, messages=messages)


def new_run_id(kind: str = "manual__") -> str:
    """A run id for a run that nobody named."""
    return f"{kind}{datetime.now(UTC):%Y%m%dT%H%M%S}_{uuid.uuid4().hex[:6]}"


def _step_command(step: Step) -> Callable[..., None]:
    def command(source: Source, run_id: RunId = None) -> None:
        settings = Settings.from_environment()
        config = load_source(source, settings)
        run = Run(run_id=run_id or _newest_run(settings, source))
        raise typer.Exit(submit(step, config, settings, run))

    return command


def _validate(
    source: Source,
    run_id: RunId = None,
    full: Full = False,  # noqa: FBT002 - a command line option
) -> None:
    settings = Settings.from_environment()
    config = load_source(source, settings)
    chosen = run_id or (new_run_id(FULL_RUN) if full else _newest_run(settings, source))
    raise typer.Exit(submit("validate", config, settings, Run(run_id=chosen, full=full)))


def _run(  # noqa: PLR0913, PLR0917 - options of a command
    source: Source,
    since: From = None,
    until: Until = None,
    table: Tables = None,
    archive: Archive = None,
    from_step: FromStep = "land",
    land_decides: LandDecides = False,  # noqa: FBT002 - a command line option
    run_id: RunId = None,
) -> None:
    settings = Settings.from_environment()
    config = load_source(source, settings)
    step = next((known for known in STEPS if known == from_step), None)
    if step is None:
        raise typer.BadParameter(f"{from_step!r}: expected one of {', '.join(STEPS)}")
    if since and (until is None or since >= until):
        raise typer.BadParameter("expected --from TIME --until TIME, the first before the second")
    if table and not since:
        raise typer.BadParameter(
            "--table: expected --from TIME --until TIME with it, between which its rows are made "
            "again; a run without these is of all tables of its source"
        )
    if archive is None and step == "land":
        kafka_properties(config, settings)  # A missing address is known before a JVM starts.
    refuse_unknown(settings, config, table or ())
    run = Run(
        run_id=run_id or (new_run_id() if step == "land" else _newest_run(settings, source)),
        since=iso(since),
        tables=tuple(table or ()),
        until=iso(until),
        archive=archive,
        from_step=step,
        land_decides=land_decides,
    )
    raise typer.Exit(submit(None, config, settings, run))


def _newest_run(settings: Settings, source: str) -> str:
    """The newest run that has steps to go on with."""
    others = (FULL_RUN, MAINTENANCE_RUN)
    rows = open_ledger(settings, source).runs(source)
    runs = [row for row in rows if not row.run_id.startswith(others)]
    if not runs:
        raise StepFailed(
            f"Source {source!r}: no run is recorded: expected one that landed; "
            f"do `lakehouse land --source {source}` first"
        )
    return runs[-1].run_id
