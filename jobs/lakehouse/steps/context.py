"""What a step gets and gives: one value each, the same for all five steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.config import Settings, SourceConfig
from lakehouse.plan.reconciling.repair import Removal
from lakehouse.plan.records import Status
from lakehouse.plan.remaking.backfilling import Backfill
from lakehouse.plan.remaking.erasing import Erasure
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.spark.batches.parsed import LastParsed
from lakehouse.spark.control.ledger import Ledger

Json = str | int | float | bool | None | Mapping[str, "Json"] | list["Json"] | tuple["Json", ...]


@dataclass(frozen=True, slots=True)
class StepContext:
    """One run of one source, as every step of it sees it.

    Attributes:
        run_id: Names the run; a retry and a reprocessed Dag run keep it.
        run_started: When this try of the run began; with `run_id` it names the try.
        until: End of the data interval (exclusive); None lands whatever is there.
        archive: A topic archive to land from; None lands from Kafka.
        lone_step: Whether the run's next step is another process's.
        replay: Whether it applies quarantined messages again instead of what landed.
        full: Whether it judges all rows of the newest cut instead of what was staged.
        removals: Rows that it takes out of silver instead of applying what landed.
        rebuild: What it makes again from bronze instead of applying what landed; None for nothing.
        backfill: Of which rows it does so; None for none.
        erasure: Whose rows it takes out of everything instead of applying what landed.
        parsed: What a step of this process has parsed, for the next one.
    """

    source: SourceConfig
    settings: Settings
    spark: SparkSession
    ledger: Ledger
    run_id: str
    run_started: datetime
    attempt: int = 1
    until: datetime | None = None
    archive: Path | None = None
    lone_step: bool = False
    replay: bool = False
    full: bool = False
    removals: tuple[Removal, ...] = ()
    rebuild: Rebuild | None = None
    backfill: Backfill | None = None
    erasure: Erasure | None = None
    parsed: LastParsed = field(default_factory=LastParsed, compare=False)


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """How a step ended.

    Attributes:
        message: One sentence with the numbers, for a person.
        counts: Numbers of the step; `apply` gives the conservation counts.
        detail: What the next steps need.
        batch_id: Names the offsets that were worked on; empty where there are none.
        exit_code: 0 passed, 1 warnings or failure, 2 critical.
        ends_run: Whether nothing is left for the run's later steps.
    """

    message: str
    counts: Mapping[str, Json] = field(default_factory=dict)
    detail: Mapping[str, Json] = field(default_factory=dict)
    batch_id: str = ""
    status: Status = "succeeded"
    exit_code: int = 0
    ends_run: bool = False
