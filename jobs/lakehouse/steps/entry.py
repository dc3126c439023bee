"""The command line of every Spark application in `jobs/`: complete arguments in, exit code out."""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from lakehouse.config import Settings, SourceConfig, mask_secret
from lakehouse.errors import LakehouseError
from lakehouse.plan.records import Step
from lakehouse.plan.remaking.backfilling import Backfill, Interval
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.session import spark_session
from lakehouse.spark.starting import app_name
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.lifeline import begin_application
from lakehouse.steps.runner import execute, step_function

AfterPublish: TypeAlias = Callable[[StepContext], Iterable[str]]
# What a backfill does once more, when all that is new is published.
_AGAIN: tuple[Step, ...] = ("apply", "validate", "publish")


def main(
    steps: Sequence[Step],
    arguments: Sequence[str] | None = None,
    after_publish: AfterPublish | None = None,
) -> int:
    """Run steps of one source in this Spark application, in order, until one fails.

    A backfill goes through the steps twice: like any run it lands and publishes what is new; then
    it makes the rows of its interval again, validates and publishes those that differ.

    Args:
        steps: The steps that this application has.
        arguments: The command line without the program; None means this process's.
        after_publish: Done once a step `publish` has succeeded; gives what to print.

    Returns:
        The exit code: the worst step's, or landing's alone with `--land-decides`.
    """
    options = _parsed(steps, arguments)
    begin_application()
    for step in steps:
        # The session may be in the making meanwhile.
        step_function(step)
    try:
        context = _context(options, lone_step=len(steps) == 1)
    except LakehouseError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    outcomes = _through(steps[steps.index(options.from_step) :], context)
    asked = _backfill(options)
    # Whoever publishes goes on: the steps of one application each would come too late.
    if asked and "publish" in steps and outcomes[-1].status == "succeeded":
        again = replace(context, backfill=asked, lone_step=False)
        outcomes += _through(_AGAIN, again)
    if after_publish and "publish" in steps and outcomes[-1].status == "succeeded":
        for line in after_publish(context):
            print(line, flush=True)
    codes = [outcome.exit_code for outcome in outcomes]
    return codes[0] if options.land_decides else max(codes)


def _through(steps: Iterable[Step], context: StepContext) -> list[StepOutcome]:
    """The steps, until one fails or leaves nothing to the next."""
    outcomes: list[StepOutcome] = []
    for step in steps:
        outcomes.append(execute(step, context))
        _print(step, outcomes[-1])
        if outcomes[-1].status != "succeeded" or outcomes[-1].ends_run:
            break
    return outcomes


def _backfill(options: argparse.Namespace) -> Backfill | None:
    if options.since is None:
        return None
    return Backfill(Interval(options.since, options.until), tuple(options.table or ()))


def _parsed(steps: Sequence[Step], arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser(steps)
    options = parser.parse_args(arguments)
    if options.since is not None and (options.until is None or options.since >= options.until):
        parser.error(f"--from {options.since}: expected a time before --until ({options.until})")
    return options


def _parser(steps: Sequence[Step]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=f"{' → '.join(steps)} for one source")
    parser.add_argument("--config", required=True, help="the source's configuration as JSON")
    parser.add_argument("--run-id", help="names the run; default: a new id")
    parser.add_argument("--run-started", type=zoned_time, help="when this try of the run began")
    parser.add_argument("--until", type=zoned_time, help="end of the data interval, exclusive")
    parser.add_argument(
        "--from",
        dest="since",
        type=_time_or_none,
        help="make the rows again that messages touch from here on; empty: no row",
    )
    parser.add_argument("--archive", type=Path, help="land from this topic archive")
    parser.add_argument("--from-step", choices=steps, default=steps[0], help="start here")
    parser.add_argument(
        "--land-decides", action="store_true", help="exit with landing's code alone"
    )
    parser.add_argument(
        "--replay", action="store_true", help="apply what stands in quarantine, not what landed"
    )
    parser.add_argument(
        "--rebuild", action="store_true", help="make tables again from bronze, not what landed"
    )
    parser.add_argument("--table", action="append", help="make this one alone again; repeatable")
    parser.add_argument("--undo", action="store_true", help="take the newest rebuild back")
    parser.add_argument(
        "--full", action="store_true", help="judge all rows of the newest cut, not what is staged"
    )
    return parser


def _context(options: argparse.Namespace, *, lone_step: bool) -> StepContext:
    settings = Settings.from_environment()
    source = SourceConfig.model_validate_json(options.config)
    # Without its secret nothing of the run could be applied.
    mask_secret(source)
    return StepContext(
        source=source,
        settings=settings,
        spark=spark_session(app_name(source.name), settings),
        ledger=Ledger(settings),
        run_id=options.run_id or f"manual__{uuid.uuid4().hex[:12]}",
        run_started=options.run_started or datetime.now(UTC),
        until=options.until,
        archive=options.archive,
        lone_step=lone_step,
        replay=options.replay,
        full=options.full,
        rebuild=Rebuild(tuple(options.table or ()), options.undo) if options.rebuild else None,
    )


def zoned_time(text: str) -> datetime:
    """A time of the command line, which names its zone."""
    value = datetime.fromisoformat(text)
    if value.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a time with its zone")
    return value


def _time_or_none(text: str) -> datetime | None:
    return zoned_time(text) if text else None


def _print(step: Step, outcome: StepOutcome) -> None:
    print(f"{step}: {outcome.status}: {outcome.message}", flush=True)
    for name, value in sorted(outcome.counts.items()):
        if isinstance(value, int | float | str):
            print(f"  {name}: {value}", flush=True)
