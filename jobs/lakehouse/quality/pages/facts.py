"""What is known of one run, put together from its rows once; the page's parts are made from it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from expectations import counts_as_passed
from lakehouse.plan.batches.conservation import laws_of
from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.records import ResultRow, RunRow
from lakehouse.quality.judgement import Verdict
from lakehouse.quality.pages.reading import SourceRecords
from lakehouse.quality.reports.files import folder_name
from lakehouse.quality.reports.outcome import SUCCEEDED, conservation_totals, run_outcome
from lakehouse.quality.reports.report import report_name
from lakehouse.quality.reports.run_report import newest_of_each
from lakehouse.quality.reports.text import minute_text


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run.

    Attributes:
        name: What its report is listed as.
        verdicts: Silver table → verdict.
        staged: Silver table → what apply staged of it.
        law: The conservation counts, summed; empty where nothing was applied.
        waiting: Topic → messages that wait for a held table of it.
        stopped: The step that failed; empty where none did.
    """

    run_id: str
    name: str
    cut_id: str
    verdict: Verdict
    message: str
    stopped: str
    ended: str
    seconds: float
    landed: int
    verdicts: Mapping[str, str]
    staged: Mapping[str, StagedTable]
    law: Mapping[str, int]
    waiting: Mapping[str, int]
    results: tuple[ResultRow, ...]

    @property
    def key(self) -> str:
        """The folder of its report."""
        return folder_name(self.name)

    @property
    def passed(self) -> int:
        """How many expectations passed."""
        return sum(
            counts_as_passed(success=row.success, severity=row.severity) for row in self.results
        )

    @property
    def failed(self) -> int:
        """How many did not."""
        return len(self.results) - self.passed

    @property
    def tone(self) -> str:
        """The colour of its verdict."""
        return tone_of(self.verdict)

    @property
    def label(self) -> str:
        """The run in the title of a mark."""
        return f"{self.ended}, {f'cut {self.name}' if self.name == self.cut_id else self.name}"


def tone_of(verdict: str) -> str:
    """The colour of a verdict; none where nothing was judged."""
    if verdict == Verdict.ERROR:
        return "failed"
    return "" if verdict == Verdict.NO_DATA else str(verdict)


def facts_of(records: SourceRecords) -> tuple[RunFacts, ...]:
    """The facts of each run, oldest first."""
    by_run: dict[str, list[ResultRow]] = {}
    for row in records.results:
        by_run.setdefault(row.run_id, []).append(row)
    return tuple(_facts(steps, by_run.get(steps[0].run_id, ())) for steps in records.runs)


def _facts(steps: tuple[RunRow, ...], results: Iterable[ResultRow]) -> RunFacts:
    by_step = {row.step: row for row in steps}
    counts = {row.step: json.loads(row.counts) for row in steps}
    validated, applied = by_step.get("validate"), by_step.get("apply")
    judged = json.loads(validated.detail) if validated and validated.status == SUCCEEDED else {}
    cut_id = str(judged.get("cut_id", ""))
    staged = StagedCut.from_detail(applied.detail) if applied else None
    verdict, message = run_outcome(steps, judged, staged)
    return RunFacts(
        run_id=steps[-1].run_id,
        name=report_name(steps[-1].run_id, cut_id, str(judged.get("scope", ""))),
        cut_id=cut_id,
        verdict=verdict,
        message=message,
        stopped=next((row.step for row in steps if row.status != SUCCEEDED), ""),
        ended=minute_text(steps[-1].ended_at),
        seconds=sum((row.ended_at - row.started_at).total_seconds() for row in steps),
        landed=int(counts.get("land", {}).get("messages", 0)),
        verdicts=judged.get("verdicts", {}),
        staged={table.silver: table for table in staged.tables} if staged else {},
        law=conservation_totals(counts.get("apply", {})),
        waiting=_waiting(counts.get("apply", {})),
        results=tuple(newest_of_each(row for row in results if row.cut in ("", cut_id))),
    )


def _waiting(counts: Mapping[str, object]) -> dict[str, int]:
    """Topic → messages that wait because their table is held."""
    found: Counter[str] = Counter()
    for (topic, _), law in laws_of(counts).items():
        found[topic] += law.held_table
    return dict(found)
