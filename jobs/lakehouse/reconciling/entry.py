"""The Spark application of reconcile: complete arguments in, rows and exit code out.

It is recorded as a validation of all rows (`scope` full) of a run of its own, so that reports,
pages and Dags show it as they show any other one. It takes no lease: only a repair changes tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from infra.errors import NotReady
from infra.sources import Database
from lakehouse.config import Settings, SourceConfig
from lakehouse.errors import ConfigError, LakehouseError, StepFailed
from lakehouse.inspection.addresses import DATABASE, database_of, signals_of
from lakehouse.plan.reconciling.kinds import DATABASES
from lakehouse.plan.reconciling.outcome import Outcome, result_rows
from lakehouse.plan.records import FULL, RESULTS
from lakehouse.quality.judgement import Verdict
from lakehouse.reconciling.repairing import repair
from lakehouse.reconciling.rounds import Patience, reconcile
from lakehouse.reconciling.sides import Sides
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.session import spark_session
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.entry import zoned_time
from lakehouse.steps.lifeline import begin_application
from lakehouse.steps.runner import run_recorded

_VERDICTS = {0: Verdict.PASSED, 1: Verdict.WARNING, 2: Verdict.FAILED}
# Of each table so many keys are printed; quality.results has more.
_SHOWN = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Reconcile one source.

    Args:
        arguments: The command line without the program; None means this process's.

    Returns:
        0: all tables are equal, 1: some were not compared or not settled, 2: some differ.
    """
    options = _parser().parse_args(arguments)
    begin_application()
    source = SourceConfig.model_validate_json(options.config)
    settings = Settings.from_environment()
    try:
        database = source_database(source, settings)
        context = StepContext(
            source=source,
            settings=settings,
            spark=spark_session(f"lakehouse reconcile {source.name}", settings),
            ledger=Ledger(settings),
            run_id=options.run_id,
            run_started=options.run_started or datetime.now(UTC),
            full=True,
        )
    except LakehouseError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    outcome, found = run(context, database, tuple(options.table), _patience(source))
    print(f"reconcile: {outcome.status}: {outcome.message}", flush=True)
    if options.repair and found is not None:
        for sentence in repair(context, found):
            print(f"repair: {sentence}", flush=True)
    elif found is not None and any(table.found for table in found.tables):
        again = f"lakehouse reconcile --source {source.name} --repair"
        print(f"`{again}` brings back what differs", flush=True)
    return outcome.exit_code


def run(
    context: StepContext, database: Database, only: tuple[str, ...], patience: Patience
) -> tuple[StepOutcome, Outcome | None]:
    """Reconcile a source and record it.

    Args:
        context: The run.
        database: The login of the source's database.
        only: Tables as TOML files write them; none means all.
        patience: How long a cut is awaited.

    Returns:
        How the run ended, and what was found; None where nothing could be compared.
    """
    told: list[Outcome] = []

    def compare(context: StepContext) -> StepOutcome:
        told.append(_compared(context, database, only, patience))
        show(told[0])
        return _outcome(told[0])

    return run_recorded("validate", context, compare), told[0] if told else None


def _compared(
    context: StepContext, database: Database, only: tuple[str, ...], patience: Patience
) -> Outcome:
    signals = signals_of(context.source, context.settings) or database
    sides = Sides(context.source, database, signals, context.ledger, context.spark)
    try:
        found = reconcile(sides, only, patience)
    except NotReady as silent:
        raise StepFailed(f"Source {context.source.name!r}: not compared: {silent}") from silent
    rows = result_rows(found, context.run_id, context.run_started, datetime.now(UTC))
    context.ledger.append(RESULTS, rows)
    return found


def show(found: Outcome) -> None:
    """Print what was found, table by table, and the first keys of each."""
    for table in found.tables:
        print(table.sentence())
        for difference in table.found[:_SHOWN]:
            print(f"  {difference.sentence()}")
        if len(table.found) > _SHOWN:
            print(f"  … and {len(table.found) - _SHOWN} more")
        for name, reason in table.table.left_out:
            print(f"  column {name} is not compared: {reason}")


def source_database(source: SourceConfig, settings: Settings) -> Database:
    """The login of a source's database.

    Raises:
        ConfigError: Nobody says it, or its database cannot be read by this project.
    """
    if source.connector not in DATABASES:
        raise ConfigError(
            f"source {source.name!r}: connector {source.connector!r}: reconcile reads databases of "
            f"{', '.join(DATABASES)} only: expected one of them; compare this one by statements of "
            f"your own with the cut that `lakehouse tables --source {source.name}` names, while "
            "nobody writes to it"
        )
    found = database_of(source, settings)
    if found is None:
        raise ConfigError(
            f"source {source.name!r}: no login of its database: expected {DATABASE} as a JSON "
            "object (host, port, user, password, database) in the environment, or the local stack, "
            "which `lakehouse up` starts"
        )
    return found


def _outcome(found: Outcome) -> StepOutcome:
    return StepOutcome(
        message=found.sentence(),
        counts=found.counts(),
        detail={
            "verdict": _VERDICTS[found.exit_code].value,
            "verdicts": {t.silver: _VERDICTS[t.exit_code].value for t in found.tables},
            "cut_id": found.cut,
            "scope": FULL,
            "source_position": found.end,
        },
        batch_id=found.cut,
        exit_code=found.exit_code,
        ends_run=True,
    )


def _patience(source: SourceConfig) -> Patience:
    return Patience(source.reconcile.wait.total_seconds())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="source against silver")
    parser.add_argument("--config", required=True, help="the source's configuration as JSON")
    parser.add_argument("--run-id", required=True, help="names the run")
    parser.add_argument("--run-started", type=zoned_time, help="when this try of the run began")
    parser.add_argument("--full", action="store_true", help="always so: all rows are compared")
    parser.add_argument("--repair", action="store_true", help="repair what differs")
    parser.add_argument("--table", action="append", default=[], help="compare only this table")
    return parser
