"""The rows of `quality.runs`, read by tasks without Spark.

A row belongs to one try of a run: its run id and the start of the Dag run, because reprocessing a
Dag run keeps its id.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from lakehouse.config import Settings
from lakehouse.plan.catalog import CATALOG, pyiceberg_properties
from lakehouse.plan.records import RUNS, RunRow, Step


@dataclass(frozen=True, slots=True)
class RunTry:
    """One try of a Dag run of one source.

    Attributes:
        started: When Airflow started it; clearing a finished run changes it.
    """

    source: str
    run_id: str
    started: datetime


def find_step(tried: RunTry, step: Step, settings: Settings) -> RunRow | None:
    """The newest row of a step in this try; None when the step was not run in it."""
    rows = _rows(tried, step, settings)
    return max(rows, key=lambda row: row.ended_at, default=None)


def _rows(tried: RunTry, step: Step, settings: Settings) -> list[RunRow]:
    # Imported by tasks only: reading a Dag file stays quick.
    from pyiceberg.catalog import load_catalog  # noqa: PLC0415
    from pyiceberg.exceptions import NoSuchTableError  # noqa: PLC0415
    from pyiceberg.expressions import And, EqualTo  # noqa: PLC0415

    wanted = And(
        EqualTo(term="source", value=tried.source),
        EqualTo(term="run_id", value=tried.run_id),
        EqualTo(term="step", value=step),
    )
    try:
        table = load_catalog(CATALOG, **pyiceberg_properties(settings)).load_table(RUNS.name)
    except NoSuchTableError:
        return []
    found = [RunRow(**values) for values in table.scan(row_filter=wanted).to_arrow().to_pylist()]
    return [row for row in found if _started(row) == tried.started]


def _started(row: RunRow) -> datetime | None:
    text = json.loads(row.detail).get("run_started")
    return datetime.fromisoformat(text) if text else None
