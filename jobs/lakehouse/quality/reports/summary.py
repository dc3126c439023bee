"""What the control tables say about a run's validation, and about messages in quarantine.

In: rows of `quality.runs`, `results`, `quarantine` and `cuts`. Out: a `Report`, and the messages
that wait. No Spark.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from lakehouse.errors import StepFailed
from lakehouse.plan.cuts.published import identities_of
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import (
    CUTS,
    FULL,
    QUARANTINE,
    RESULTS,
    RUNS,
    STEPS,
    CutRow,
    QuarantineRow,
    ResultRow,
    RunRow,
)
from lakehouse.plan.remaking.replay import open_rows
from lakehouse.quality.reports.outcome import SUCCEEDED
from lakehouse.quality.reports.report import Report
from lakehouse.quality.reports.run_report import (
    quarantined_messages,
    run_report,
    steps_of,
    unchanged,
)
from lakehouse.spark.control.ledger import Ledger

# A run has five steps, and a row for each try of one.
_RECENT_ROWS = 200
_QUARANTINE_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Recent:
    """What the newest rows of a source tell.

    Attributes:
        runs: Its newest steps, oldest first; those of the oldest run may be missing.
        cut: Its newest published cut.
    """

    runs: tuple[RunRow, ...]
    cut: CutRow | None


def read_recent(ledger: Ledger, source: str) -> Recent:
    """The newest runs and the newest cut of a source, whatever its age."""
    runs = ledger.newest(RUNS, _RECENT_ROWS, source=source)
    cuts = ledger.newest(CUTS, _RECENT_ROWS, source=source)
    published = [row for row in cuts if isinstance(row, CutRow) and row.state == "published"]
    return Recent(
        tuple(row for row in runs if isinstance(row, RunRow) and row.step in STEPS),
        max(published, key=lambda row: row.cut_id, default=None),
    )


def summarise_validation(ledger: Ledger, source: str, cut_id: str | None) -> Report:
    """The report of the run that validated a cut, or of the newest that validated or failed.

    Raises:
        StepFailed: Nothing was validated, or not this cut.
    """
    recent = read_recent(ledger, source)
    if cut_id is not None:
        recent = replace(recent, runs=tuple(ledger.runs(source)))
    found = [row for row in recent.runs if _is_told(row) and cut_id in (None, _cut_of(row))]
    if not found:
        known = max(map(_cut_of, recent.runs), default="")
        why = f"nothing was validated yet; do `lakehouse run --source {source}`"
        if cut_id and known:
            why = f"cut {cut_id!r} was never validated: expected one that was, as {known!r}"
        raise StepFailed(f"Source {source!r}: {why}")
    return report_of(ledger, source, found[-1].run_id, recent)


def report_of(ledger: Ledger, source: str, run_id: str, recent: Recent) -> Report:
    """The report of one run, which has a row at least among the recent ones."""
    found = ledger.rows(RESULTS, source=source, run_id=run_id)
    results = [row for row in found if isinstance(row, ResultRow)]
    published = sorted(identities_of(recent.cut))
    steps = steps_of(recent.runs, run_id)
    report = run_report(steps, results, published)
    if report.conservation.get("quarantined"):
        found = ledger.rows(QUARANTINE, source=source, run_id=run_id)
        rows = (row for row in found if isinstance(row, QuarantineRow))
        report = replace(report, quarantine=quarantined_messages(rows))
    return replace(report, notes=(*report.notes, *unchanged(recent.runs, run_id)))


def open_quarantine(
    ledger: Ledger, source: str, cut: CutRow | None
) -> tuple[tuple[QuarantineRow, ...], bool]:
    """The messages that cannot be applied and wait for a replay, by place; those of every run.

    Args:
        ledger: The control tables.
        source: The source.
        cut: Its newest cut: what is behind it a run still judges itself.

    Returns:
        The messages, and whether they are all: older ones than the newest rows tell are not read.
    """
    applied = Progress.from_json(cut.offsets if cut else "").offsets
    found = ledger.newest(QUARANTINE, _QUARANTINE_ROWS, source=source)
    rows = [row for row in found if isinstance(row, QuarantineRow)]
    return tuple(open_rows(rows, applied).values()), len(rows) < _QUARANTINE_ROWS


def _is_told(row: RunRow) -> bool:
    """Whether there is something to report: a validation, or a step that failed."""
    return row.step == "validate" or (row.step in STEPS and row.status != SUCCEEDED)


def _cut_of(row: RunRow) -> str:
    """The cut that a row's run made."""
    detail = json.loads(row.detail) if row.step == "validate" else {}
    return str(detail.get("cut_id", "")) if detail.get("scope") != FULL else ""
