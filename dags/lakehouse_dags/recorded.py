"""What an application recorded of its steps in `quality.runs`, read by tasks without Spark.

A row belongs to one try of a run: its run id and the start of the Dag run, because reprocessing a
Dag run keeps its id.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from lakehouse.config import Settings
from lakehouse.plan.catalog import CATALOG, pyiceberg_properties
from lakehouse.plan.records import RUNS, RunRow
from lakehouse.plan.tuning import LANDINGS, expected_messages

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression

# What landed so long ago tells nothing of the next run.
_TELLING = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RunTry:
    """One try of a Dag run of one source.

    Attributes:
        started: When Airflow started it; clearing a finished run changes it.
    """

    source: str
    run_id: str
    started: datetime


@dataclass(frozen=True, slots=True)
class Recorded:
    """The part of a step's row that its task shows.

    Attributes:
        counts: A JSON object, as `detail` is.
        seconds: How long the step took.
    """

    step: str
    status: str
    message: str
    batch_id: str
    counts: str
    detail: str
    seconds: float


def find_steps(
    tried: RunTry, settings: Settings, since: datetime | None = None
) -> dict[str, Recorded]:
    """The newest row of each step of this try, of those that ended from a time on."""
    rows = sorted(_rows(tried, settings), key=lambda row: row.ended_at)
    return {row.step: _recorded(row) for row in rows if since is None or row.ended_at >= since}


def to_xcom(tried: RunTry, steps: dict[str, Recorded]) -> dict[str, object]:
    """What a run's first task hands to the others, so that they need not read the table."""
    rows = {step: asdict(recorded) for step, recorded in steps.items()}
    return {"started": tried.started.isoformat(), "rows": rows}


def from_xcom(tried: RunTry, handed: object, step: str) -> Recorded | None:
    """The step as it was handed over, if it belongs to this try and succeeded; else None."""
    if not isinstance(handed, dict) or handed["started"] != tried.started.isoformat():
        return None
    row = handed["rows"].get(step)
    return Recorded(**row) if row and row["status"] == "succeeded" else None


def messages_before(source: str, settings: Settings) -> int | None:
    """About how many messages the next run of a source will parse; None where nothing tells."""
    # As below.
    from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual  # noqa: PLC0415

    landings = And(
        EqualTo(term="source", value=source),
        EqualTo(term="step", value="land"),
        EqualTo(term="status", value="succeeded"),
        GreaterThanOrEqual(term="ended_at", value=(datetime.now(UTC) - _TELLING).isoformat()),
    )
    rows = sorted(_scan(landings, settings), key=lambda row: row.ended_at)
    return expected_messages(row.counts for row in rows[-LANDINGS:])


def _rows(tried: RunTry, settings: Settings) -> list[RunRow]:
    # Imported by tasks only, since it takes seconds: reading a Dag file stays quick.
    from pyiceberg.expressions import And, EqualTo  # noqa: PLC0415

    wanted = And(
        EqualTo(term="source", value=tried.source), EqualTo(term="run_id", value=tried.run_id)
    )
    return [row for row in _scan(wanted, settings) if _started(row) == tried.started]


def _scan(wanted: BooleanExpression, settings: Settings) -> list[RunRow]:
    from pyiceberg.catalog import load_catalog  # noqa: PLC0415
    from pyiceberg.exceptions import NoSuchTableError  # noqa: PLC0415

    try:
        table = load_catalog(CATALOG, **pyiceberg_properties(settings)).load_table(RUNS.name)
    except NoSuchTableError:
        return []
    return [RunRow(**values) for values in table.scan(row_filter=wanted).to_arrow().to_pylist()]


def _recorded(row: RunRow) -> Recorded:
    seconds = (row.ended_at - row.started_at).total_seconds()
    return Recorded(
        row.step, row.status, row.message, row.batch_id, row.counts, row.detail, seconds
    )


def _started(row: RunRow) -> datetime | None:
    text = json.loads(row.detail).get("run_started")
    return datetime.fromisoformat(text) if text else None
