"""The lag of a source as a run finds it (`land`) and as it leaves it (`publish`), in their rows.

Where a later step fails, what `land` found stays the newest, so that a lag that grows is seen.
"""

from __future__ import annotations

import json
from dataclasses import replace

import structlog

from lakehouse.errors import KafkaUnreachable
from lakehouse.plan.records import Step
from lakehouse.spark.landing.lag import measure_lag
from lakehouse.steps.context import StepContext, StepOutcome

_LOG = structlog.get_logger()


def with_lag(step: Step, context: StepContext, outcome: StepOutcome) -> StepOutcome:
    """The outcome of a step, with the lag in its detail where the step tells it.

    Args:
        step: The step that ended.
        context: The run. One from an archive is behind nothing.
        outcome: How it ended.
    """
    tells = step == "land" or (step == "publish" and outcome.status == "succeeded")
    silent = outcome.exit_code == KafkaUnreachable.exit_code
    if not tells or silent or context.archive is not None:
        return outcome
    try:
        lag = measure_lag(context.source, context.settings, context.ledger)
    except Exception as failure:  # noqa: BLE001 - no run fails for want of a figure
        # No traceback: its variables would show the settings.
        _LOG.error("lag not measured", source=context.source.name, reason=type(failure).__name__)
        return outcome
    return replace(outcome, detail={**outcome.detail, "lag": json.loads(lag.to_json())})
