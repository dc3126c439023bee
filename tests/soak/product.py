"""Runs of the product over the stack's topics, and what a reader of a published cut sees."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from pyspark.sql import SparkSession

from infra.demo.outcome import law_holds, law_terms
from lakehouse.config import Settings, SourceConfig
from lakehouse.names import TableIdentity, silver_name, silver_namespace
from lakehouse.plan.records import QUARANTINE, STEPS, CutRow, QuarantineRow
from lakehouse.spark.control.ledger import Ledger
from lakehouse.steps.context import StepContext
from lakehouse.steps.runner import execute
from tests.soak.tables import ACCOUNTS


class RunFailed(Exception):
    """A step of the product did not succeed, or a law does not hold."""


@dataclass(slots=True)
class Product:
    """The product's runs of one source.

    Attributes:
        source: What the runs work on; its name is that of bronze and silver.
        law: Messages by their place, added up over all runs.
        seconds: How long each run took.
    """

    spark: SparkSession
    settings: Settings
    source: SourceConfig
    law: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.settings)

    def run(self, until: datetime | None = None) -> CutRow:
        """Do all five steps, and check the law of conservation.

        Args:
            until: End of what is landed; None lands whatever is there.

        Raises:
            RunFailed: A step did not succeed, or a message has no place.
        """
        begun = time.monotonic()
        context = self.context(until)
        for step in STEPS:
            outcome = execute(step, context)
            if outcome.status != "succeeded":
                raise RunFailed(f"{self.source.name}: {step} {outcome.status}: {outcome.message}")
            if step == "apply":
                if outcome.counts and not law_holds(outcome.counts):
                    raise RunFailed(f"{self.source.name}: the law is broken: {outcome.counts}")
                self.law.update(law_terms(outcome.counts))
        self.seconds.append(time.monotonic() - begun)
        cut = self.ledger.newest_cut(self.source.name)
        if cut is None:
            raise RunFailed(f"{self.source.name}: expected a published cut after publish")
        return cut

    def context(self, until: datetime | None = None) -> StepContext:
        """A new run of the source."""
        return StepContext(
            source=self.source,
            settings=self.settings,
            spark=self.spark,
            ledger=self.ledger,
            run_id=f"soak_{uuid.uuid4().hex[:8]}",
            run_started=datetime.now(UTC),
            until=until,
        )

    def balance(self, cut: CutRow, database: str, schema: str | None) -> Decimal | None:
        """The sum of all accounts in a cut; None before they are in it."""
        total = Decimal(0)
        for table in ACCOUNTS:
            identity = TableIdentity(database, schema, table)
            name = silver_name(identity, self.source.connector)
            full = f"{silver_namespace(self.source.name)}.{name}"
            if full not in cut.tables:
                return None
            scan = self.ledger.catalog.load_table(full).scan(
                snapshot_id=cut.tables[full], selected_fields=("balance",)
            )
            total += sum(scan.to_arrow()["balance"].to_pylist(), Decimal(0))
        return total

    def quarantined(self) -> list[QuarantineRow]:
        """What could not be applied."""
        rows = self.ledger.rows(QUARANTINE, source=self.source.name)
        return [row for row in rows if isinstance(row, QuarantineRow)]
