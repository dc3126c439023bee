"""The product as an applier: batches become topic archives, runs go over them, silver is read.

A batch takes the product's own steps, as a run does, but for `validate`: what Great Expectations
would say of the staged rows is judged elsewhere, so that a row of `quality.runs` says in its place
that every table passed; `publish` would refuse a cut without one. A batch that is lost is landed
and staged by a run that dies before it publishes.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.config import Settings, SourceConfig, parse_source
from lakehouse.plan.records import RUNS, CutRow, RunRow, Step
from lakehouse.spark.control.ledger import Ledger
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.runner import execute
from tests.property.dialects import Dialect
from tests.property.histories import Tables
from tests.support.archives import Message, write_archive


@dataclass
class Product:
    """One source of the product; `cut` is its newest one, `outcomes` what its newest run said."""

    spark: SparkSession
    settings: Settings
    folder: Path
    source: SourceConfig
    outcomes: Mapping[str, StepOutcome] = field(default_factory=dict)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.settings)

    @property
    def cut(self) -> CutRow | None:
        return self.ledger.newest_cut(self.source.name)

    def apply(self, batch: Iterable[Message]) -> Tables:
        """A whole run over one batch; a batch without messages lands nothing."""
        messages = tuple(batch)
        if messages:
            self._run(messages, ("land", "check", "apply", "validate", "publish"))
        return self.rows()

    def lose(self, batch: Iterable[Message]) -> None:
        """A run that dies before it publishes."""
        messages = tuple(batch)
        if messages:
            self._run(messages, ("land", "check", "apply"))

    def rows(self) -> Tables:
        """The rows of all published tables, without nulls; tables without rows are left out."""
        cut = self.cut
        identities = json.loads(cut.identities if cut else "{}")
        if not identities:
            return {}
        queries = [
            f"SELECT {number} AS number, to_json(struct(* EXCEPT (_cdc))) AS line "
            f"FROM lakehouse.{name}"
            for number, name in enumerate(identities)
        ]
        found: Tables = {}
        tables = [tuple(identity) for identity in identities.values()]
        for number, line in self.spark.sql(" UNION ALL ".join(queries)).collect():
            row = json.loads(line)
            keys, key = found.setdefault(tables[number], {}), (row.get("id", row.get("ID")),)
            assert key not in keys, f"{tables[number]} {key} has two rows"
            keys[key] = row
        return found

    def _run(self, messages: Iterable[Message], steps: tuple[Step, ...]) -> None:
        context = StepContext(
            source=self.source,
            settings=self.settings,
            spark=self.spark,
            ledger=self.ledger,
            run_id=f"run_{uuid.uuid4().hex[:8]}",
            run_started=datetime.now(UTC),
            archive=write_archive(self.folder / uuid.uuid4().hex, messages),
        )
        outcomes: dict[str, StepOutcome] = {}
        for step in steps:
            if step == "validate":
                context.ledger.append(RUNS, [_passed(context, outcomes["apply"])])
                continue
            outcomes[step] = execute(step, context)
            assert outcomes[step].status == "succeeded", f"{step}: {outcomes[step].message}"
        self.outcomes = outcomes


def open_product(
    spark: SparkSession, settings: Settings, folder: Path, dialect: Dialect, name: str
) -> Product:
    """A new source of the product that reads a dialect's topics.

    Transactions wait as long as the judge does, also where the product's default is shorter.
    """
    lines = [f'connector = "{dialect.connector}"', f'topic_prefix = "{dialect.prefix}"']
    if not dialect.metadata:
        lines += ["[kafka]", f'topics = ["{dialect.topic(0)}"]']
    lines += ["[transactions]", 'timeout = "1h"']
    return Product(spark, settings, folder, parse_source("\n".join(lines) + "\n", name))


def _passed(context: StepContext, applied: StepOutcome) -> RunRow:
    """What `validate` would leave had every suite passed."""
    now = datetime.now(UTC)
    tables = applied.detail["tables"]
    assert isinstance(tables, list)
    return RunRow(
        source=context.source.name,
        run_id=context.run_id,
        attempt=1,
        step="validate",
        status="succeeded",
        started_at=now,
        ended_at=now,
        batch_id=applied.batch_id,
        code_hash="",
        config_hash="",
        counts="{}",
        detail=json.dumps({"verdicts": {table["silver"]: "passed" for table in tables}}),
        message="not judged: the rows are what this test judges",
    )
