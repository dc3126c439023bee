"""The Spark application of `lakehouse erase`: stage, judge, publish, and forget what was before."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from lakehouse.config import Settings, SourceConfig, mask_secret
from lakehouse.errors import LakehouseError
from lakehouse.plan.records import MAINTAIN, Step
from lakehouse.plan.remaking.erasing import ERASURE, Erasure
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.session import spark_session
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.lifeline import begin_application
from lakehouse.steps.removal.forgetting import forget
from lakehouse.steps.runner import execute, run_recorded

_STEPS: tuple[Step, ...] = ("apply", "validate", "publish")


def main(arguments: Sequence[str] | None = None) -> int:
    """Erase; the keys come from the environment, since process lists show arguments.

    Args:
        arguments: The command line without the program; None means this process's.

    Returns:
        The worst exit code of the steps.
    """
    parser = argparse.ArgumentParser(description="erase the rows of some keys")
    parser.add_argument("--config", required=True, help="the source's configuration as JSON")
    parser.add_argument("--run-id", required=True, help="names the run")
    options = parser.parse_args(arguments)
    asked = Erasure.from_json(os.environ.pop(ERASURE))
    begin_application()
    settings = Settings.from_environment()
    source = SourceConfig.model_validate_json(options.config)
    try:
        mask_secret(source)
        context = StepContext(
            source=source,
            settings=settings,
            spark=spark_session(f"lakehouse erase {source.name}", settings),
            ledger=Ledger(settings),
            run_id=options.run_id,
            run_started=datetime.now(UTC),
            erasure=asked,
        )
    except LakehouseError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return max(outcome.exit_code for outcome in erase_all(context))


def erase_all(context: StepContext) -> list[StepOutcome]:
    """The steps of an erasure, until one fails."""
    outcomes: list[StepOutcome] = []
    for step in _STEPS:
        outcomes.append(_told(step, execute(step, context)))
        if outcomes[-1].status != "succeeded":
            return outcomes
    outcomes.append(_told(MAINTAIN, run_recorded(MAINTAIN, context, forget)))
    return outcomes


def _told(step: Step, outcome: StepOutcome) -> StepOutcome:
    print(f"{step}: {outcome.status}: {outcome.message}", flush=True)
    return outcome
