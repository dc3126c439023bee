"""The product over generated messages: they are landed as a run lands them, then each step runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import Settings, SourceConfig, parse_source
from lakehouse.plan.records import Step
from lakehouse.plan.topics.landing import LandingPlan, plan_landing
from lakehouse.plan.topics.offsets import LandedOffsets, PartitionBounds, TopicBounds
from lakehouse.spark.batches.parsed import LastParsed
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.landing.land import Landing, land
from lakehouse.spark.metadata import head
from lakehouse.spark.tables import full_name
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.land import landing_outcome
from lakehouse.steps.runner import execute, run_recorded
from tests.bench.accounts import COLUMNS, Batch
from tests.bench.cpu import Cost, took
from tests.bench.messages import DECLARED, KEYS, PREFIX, changes, first_load, table_name, topic
from tests.support.runs import Runs

REST: tuple[Step, ...] = ("check", "apply", "validate", "publish")


@dataclass
class Product:
    """One source with tables of accounts.

    Attributes:
        tables: How many.
        key: What names an account: a name in `KEYS`.
        parses_again: Whether apply parses the messages too, as where it is an application of its
            own; in one of all steps it takes what check has parsed.
        sent: Table → how many messages its topic has.
        newest: The run that landed the last of them.
    """

    spark: SparkSession
    settings: Settings
    name: str
    tables: int = 1
    key: str = "bigint"
    parses_again: bool = False
    sent: Counter[int] = field(default_factory=Counter)
    newest: str = ""

    @property
    def source(self) -> SourceConfig:
        """Its configuration: messages without schema have the types that it declares."""
        types = {name: DECLARED[kind] for name, kind in COLUMNS.items()}
        types |= dict.fromkeys(KEYS[self.key].more, "uuid")
        columns = "".join(f'{name} = {{ type = "{kind}" }}\n' for name, kind in types.items())
        declared = "".join(
            f'[tables."public.{table_name(number)}".columns]\n{columns}'
            for number in range(self.tables)
        )
        text = f'connector = "postgresql"\ntopic_prefix = "{PREFIX}"\n{declared}'
        return parse_source(text, self.name)

    def silver(self, number: int = 0) -> str:
        """One of its tables, namespace and name."""
        return f"silver_{self.name}.public__{table_name(number)}"

    def load(self, rows: int) -> dict[str, Cost]:
        """The first load of all tables as one run; what each step took."""
        every = range(self.tables)
        return self.run(first_load(self.spark, rows, every, KEYS[self.key]), rows, every)

    def change(self, batch: Batch, tables: Iterable[int] = (0,)) -> dict[str, Cost]:
        """A batch of each of the tables, as one run; what each step took."""
        some = tuple(tables)
        messages = changes(self.spark, batch, some, KEYS[self.key])
        return self.run(messages, batch.changes, some)

    def run(
        self, messages: DataFrame, count: int, tables: Iterable[int], files: int = 0
    ) -> dict[str, Cost]:
        """Land so many messages of each of the tables, and do the steps behind that.

        With `files` bronze lies in so many before the other steps begin, as behind many landings.
        """
        context = self._context()
        before = ", ".join(f"{number}, {self.sent[number]}L" for number in tables)
        placed = messages.withColumn("offset", F.expr(f"offset + map({before})[n]")).drop("n")
        self.sent.update(dict.fromkeys(tables, count))
        found = {"land": _measured(partial(_land, context, placed, self.sent))}
        if files:
            self._spread(files)
        alone = replace(context, parsed=LastParsed()) if self.parses_again else context
        for step in REST:
            of = alone if step == "apply" else context
            found[step] = _measured(partial(execute, step, of))
        self.newest = context.run_id
        return found

    def _context(self) -> StepContext:
        return Runs(self.spark, self.settings, self.settings.home, self.source).context()

    def maintain(self) -> Cost:
        """Compaction, expiry and clean-up of all tables of the source."""
        return _measured(partial(execute, "maintain", self._context()))

    def _spread(self, files: int) -> None:
        """Write bronze again, in so many files, which hold one range of offsets each."""
        table = f"bronze.{self.name}"
        newest = head(Ledger(self.settings).catalog, table)
        assert newest is not None
        rows = self.spark.table(full_name(table)).repartitionByRange(files, "offset")
        writer = rows.sortWithinPartitions("topic", "partition", "offset").writeTo(full_name(table))
        for name, text in newest.summary.items():
            if name.startswith("lakehouse."):
                writer = writer.option(f"snapshot-property.{name}", text)
        writer.overwritePartitions()


def _land(context: StepContext, messages: DataFrame, sent: Counter[int]) -> StepOutcome:
    ordered = messages.sortWithinPartitions("topic", "partition", "offset")
    bounds = tuple(
        TopicBounds(topic(number), "bench", (PartitionBounds(0, 0, end),))
        for number, end in sent.items()
    )

    def plan(landed: LandedOffsets) -> LandingPlan:
        return plan_landing(landed, bounds)

    def landed(context: StepContext) -> StepOutcome:
        landing = Landing(plan, lambda _: ordered, context.run_id, context.attempt)
        done = land(context.spark, Bronze(context.source.name, context.ledger), landing)
        return landing_outcome(context, done, len(bounds), ())

    return run_recorded("land", context, landed)


def _measured(work: partial[StepOutcome]) -> Cost:
    cost, outcome = took(work)
    assert (outcome.status, outcome.exit_code) == ("succeeded", 0), outcome.message
    return cost
