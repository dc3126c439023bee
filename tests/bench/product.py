"""The product over generated messages: they are landed as a run lands them, then each step runs."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import Settings, SourceConfig, parse_source
from lakehouse.plan.landing import LandingPlan, plan_landing
from lakehouse.plan.offsets import LandedOffsets, PartitionBounds, TopicBounds
from lakehouse.plan.records import Step
from lakehouse.spark.bronze import Bronze
from lakehouse.spark.land import Landing, land
from lakehouse.spark.ledger import Ledger
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.land import landing_outcome
from lakehouse.steps.runner import execute, run_recorded
from tests.bench.accounts import COLUMNS, Batch
from tests.bench.cpu import cpu_seconds
from tests.bench.messages import PREFIX, TOPIC, changes, first_load

REST: tuple[Step, ...] = ("check", "apply", "validate", "publish")


@dataclass
class Product:
    """One source with a table of accounts.

    Attributes:
        sent: How many messages its topic has.
        newest: The run that landed the last of them.
    """

    spark: SparkSession
    settings: Settings
    name: str
    sent: int = 0
    newest: str = ""

    @property
    def source(self) -> SourceConfig:
        """Its configuration: messages without schema have the types that it declares."""
        columns = "".join(f'{name} = {{ type = "{_DECLARED[kind]}" }}\n' for name, kind in _KINDS)
        return parse_source(
            f'connector = "postgresql"\ntopic_prefix = "{PREFIX}"\n'
            f'[tables."public.accounts".columns]\n{columns}',
            self.name,
        )

    @property
    def silver(self) -> str:
        """Its table, namespace and name."""
        return f"silver_{self.name}.public__accounts"

    def load(self, rows: int) -> dict[str, float]:
        """The first load as one run; CPU seconds of each step."""
        return self.run(first_load(self.spark, rows), rows)

    def change(self, batch: Batch) -> dict[str, float]:
        """A batch as one run; CPU seconds of each step."""
        return self.run(changes(self.spark, batch), batch.changes)

    def run(self, messages: DataFrame, count: int) -> dict[str, float]:
        """Land so many messages, and do the steps behind that."""
        context = StepContext(
            source=self.source,
            settings=self.settings,
            spark=self.spark,
            ledger=Ledger(self.settings),
            run_id=f"bench_{uuid.uuid4().hex[:8]}",
            run_started=datetime.now(UTC),
        )
        placed = messages.withColumn("offset", F.col("offset") + self.sent)
        self.sent += count
        found = {"land": _measured(partial(_land, context, placed, self.sent))}
        for step in REST:
            found[step] = _measured(partial(execute, step, context))
        self.newest = context.run_id
        return found


_KINDS = tuple(COLUMNS.items())
_DECLARED = {"bigint": "bigint", "int": "integer", "string": "varchar"}


def _land(context: StepContext, messages: DataFrame, end: int) -> StepOutcome:
    bounds = TopicBounds(TOPIC, "bench", (PartitionBounds(0, 0, end),))

    def plan(landed: LandedOffsets) -> LandingPlan:
        return plan_landing(landed, (bounds,))

    def landed(context: StepContext) -> StepOutcome:
        landing = Landing(plan, lambda _: messages, context.run_id, context.attempt)
        done = land(context.spark, Bronze(context.source.name, context.ledger), landing)
        return landing_outcome(context, done, 1, ())

    return run_recorded("land", context, landed)


def _measured(work: partial[StepOutcome]) -> float:
    before = cpu_seconds()
    outcome = work()
    assert (outcome.status, outcome.exit_code) == ("succeeded", 0), outcome.message
    return cpu_seconds() - before
