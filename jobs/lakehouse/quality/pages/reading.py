"""What the page of a source is made from: rows of `quality.*`, as many as the page shows.

In: the ledger. Out: rows. Read are the newest of them, so that neither the age of the source nor
the number of its runs matters.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lakehouse.plan.records import (
    RESULTS,
    SCHEMA_VERSIONS,
    CutRow,
    QuarantineRow,
    ResultRow,
    RunRow,
    SchemaVersionRow,
)
from lakehouse.quality.reports.run_report import steps_of
from lakehouse.quality.reports.summary import Recent, open_quarantine
from lakehouse.spark.control.ledger import Ledger

RUNS_SHOWN = 30
_EPOCH = datetime.fromtimestamp(0, UTC)
# Of all runs: as many as there are expectations for each table and topic partition.
_MOST_RESULTS = 200_000
_MOST_VERSIONS = 2_000


@dataclass(frozen=True, slots=True)
class SourceRecords:
    """Rows of one source, oldest first.

    Attributes:
        runs: The steps of each run that is shown.
        cut: The newest published one.
        results: Of those runs.
        quarantine: The messages that wait, by place.
        is_quarantine_whole: Whether older rows of the quarantine were left out.
        newest_message: When Kafka, or the source, stamped the newest message that landed.
    """

    source: str
    connector: str
    runs: tuple[tuple[RunRow, ...], ...]
    cut: CutRow | None
    results: tuple[ResultRow, ...]
    versions: tuple[SchemaVersionRow, ...]
    quarantine: tuple[QuarantineRow, ...]
    is_quarantine_whole: bool
    newest_message: datetime | None


def read_source(ledger: Ledger, source: str, connector: str, recent: Recent) -> SourceRecords:
    """The rows of a source's newest runs, and what stands of it.

    Args:
        ledger: The control tables.
        source: The source.
        connector: Its connector's name.
        recent: Its newest runs and cut.
    """
    ids = list(dict.fromkeys(row.run_id for row in recent.runs))
    steps = tuple(steps_of(recent.runs, run_id) for run_id in ids[-RUNS_SHOWN:])
    since = min((row.started_at for run in steps for row in run), default=None)
    waiting, is_whole = open_quarantine(ledger, source, recent.cut)
    results = ledger.newest(RESULTS, _MOST_RESULTS, since=since, source=source)
    versions = ledger.newest(SCHEMA_VERSIONS, _MOST_VERSIONS, source=source)
    return SourceRecords(
        source=source,
        connector=connector,
        runs=steps,
        cut=recent.cut,
        results=tuple(row for row in results if isinstance(row, ResultRow)),
        versions=tuple(row for row in versions if isinstance(row, SchemaVersionRow)),
        quarantine=waiting,
        is_quarantine_whole=is_whole,
        newest_message=_newest_message(steps),
    )


def _newest_message(runs: Sequence[Sequence[RunRow]]) -> datetime | None:
    """The newest timestamp of a message, as the landings of some runs tell it."""
    landings = [row for run in runs for row in run if row.step == "land"]
    told = (json.loads(row.detail).get("newest_ms") for row in landings)
    newest = max((ms for ms in told if ms is not None), default=None)
    return None if newest is None else _EPOCH + timedelta(milliseconds=newest)
