"""Whole runs of one source over topic archives, and what silver holds afterwards."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import Row, SparkSession

from lakehouse.config import Settings, SourceConfig, parse_source
from lakehouse.plan.records import STEPS, Step
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.tables import full_name
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.runner import execute
from tests.support.debezium import Postgres

_JUDGING = threading.Lock()


@dataclass(frozen=True)
class Runs:
    """Runs of one source."""

    spark: SparkSession
    settings: Settings
    folder: Path
    source: SourceConfig

    def run(self, connector: Postgres, steps: tuple[Step, ...] = STEPS) -> dict[str, StepOutcome]:
        """Land everything that the connector has sent, and go on from there."""
        return self.steps(connector.archive(self.folder / uuid.uuid4().hex), steps)

    def steps(
        self, archive: Path | None = None, steps: tuple[Step, ...] = STEPS
    ) -> dict[str, StepOutcome]:
        """Do one run over an archive; without one from Kafka."""
        context = self.context(archive)
        return {step: _execute(step, context) for step in steps}

    @property
    def ledger(self) -> Ledger:
        """What the runs have recorded."""
        return Ledger(self.settings)

    def context(self, archive: Path | None = None, run_id: str | None = None) -> StepContext:
        """One run of the source."""
        return StepContext(
            source=self.source,
            settings=self.settings,
            spark=self.spark,
            ledger=self.ledger,
            run_id=run_id or f"run_{uuid.uuid4().hex[:8]}",
            run_started=datetime.now(UTC),
            archive=archive,
        )

    def rows(self, table: str, *columns: str) -> list[tuple[object, ...]]:
        """Rows of a silver table's `main`, sorted."""
        found = self.spark.table(full_name(f"silver_{self.source.name}.public__{table}"))
        return sorted(tuple(row) for row in found.selectExpr(*columns).collect())

    def state(self, table: str) -> list[Row]:
        """Rows of a table's state table, by kind and key."""
        name = full_name(f"silver_{self.source.name}.public__{table}__state")
        return self.spark.table(name).orderBy("kind", "key").collect()


def _execute(step: Step, context: StepContext) -> StepOutcome:
    """Run a step; Great Expectations has one context for each process."""
    with _JUDGING if step in ("check", "validate") else nullcontext():
        return execute(step, context)


def open_runs(spark: SparkSession, settings: Settings, folder: Path, name: str) -> Runs:
    """Runs of a source whose topic prefix is its name."""
    source = parse_source(f'connector = "postgresql"\ntopic_prefix = "{name}"\n', name)
    return Runs(spark, settings, folder, source)


def laws_hold(outcome: StepOutcome) -> bool:
    """Whether the law of conservation holds for each topic partition, recomputed here."""
    return all(isinstance(law, Mapping) and _holds(law) for law in outcome.counts.values())


def _holds(law: Mapping[str, object]) -> bool:
    number = {name: int(str(count)) for name, count in law.items()}
    before = number["landed"] + number["pending_before"]
    places = ("applied", "superseded", "quarantined", "control", "pending_after")
    return before == sum(number[place] for place in places)
