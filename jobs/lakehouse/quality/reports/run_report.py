"""The report of a run from what the control tables say: its steps, what was judged, what was not.

In: a run's rows of `quality.runs` and `quality.results`. Out: a `Report`. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from lakehouse.names import TableIdentity
from lakehouse.plan.cuts.handover import StagedCut
from lakehouse.plan.records import STEPS, QuarantineRow, ResultRow, RunRow
from lakehouse.quality.reports.outcome import SUCCEEDED, conservation_totals, run_outcome
from lakehouse.quality.reports.report import (
    MESSAGES_SHOWN,
    QuarantinedMessage,
    Report,
    ReportFinding,
    ReportStep,
    ReportTable,
    Sample,
)
from lakehouse.quality.reports.text import utc_text
from lakehouse.spark.sql import messages_query


def steps_of(runs: Iterable[RunRow], run_id: str) -> tuple[RunRow, ...]:
    """The steps of a run as they stand: each one's newest row, none from before an earlier step.

    A backfill that found nothing to change leaves what the run published before it as it is.

    Args:
        runs: Rows of the source, oldest first.
        run_id: The run.
    """
    newest: dict[str, RunRow] = {}
    for row in runs:
        if row.run_id == run_id and not (row.step in newest and _changed_nothing(row)):
            newest[row.step] = row
    found: list[RunRow] = []
    for row in (newest[step] for step in STEPS if step in newest):
        if not found or row.ended_at >= found[-1].ended_at:
            found.append(row)
    return tuple(found)


def unchanged(runs: Iterable[RunRow], run_id: str) -> tuple[str, ...]:
    """What the backfills of a run that found nothing to change have to say."""
    mine = (row for row in runs if row.run_id == run_id and _changed_nothing(row))
    return tuple(f"backfill: {row.message}" for row in mine)


def _changed_nothing(row: RunRow) -> bool:
    if row.step != "apply" or row.status != SUCCEEDED:
        return False
    detail = json.loads(row.detail)
    return "backfill" in detail and "branch" not in detail


def run_report(
    steps: Sequence[RunRow],
    results: Iterable[ResultRow],
    published: Sequence[str] = (),
) -> Report:
    """The report of a run.

    Args:
        steps: Its steps, as `steps_of` gives them; at least one.
        results: Its rows of `quality.results`.
        published: The silver tables of the newest published cut.
    """
    by_step, last = {row.step: row for row in steps}, steps[-1]
    validated, applied = by_step.get("validate"), by_step.get("apply")
    judged = json.loads(validated.detail) if validated and validated.status == SUCCEEDED else {}
    cut_id = str(judged.get("cut_id", ""))
    findings = recorded_findings(newest_of_each(row for row in results if row.cut in ("", cut_id)))
    staged = StagedCut.from_detail(applied.detail) if applied else None
    verdict, message = run_outcome(steps, judged, staged)
    return Report(
        source=last.source,
        run_id=last.run_id,
        run_started=str(json.loads(last.detail).get("run_started", "")),
        cut_id=cut_id,
        verdict=verdict,
        message=message,
        validated_at=utc_text((validated or last).ended_at),
        steps=tuple(map(_step, steps)),
        notes=(*(staged.findings if staged else ()), *_not_judged(judged.get("not_judged", {}))),
        tables=_tables(judged.get("verdicts", {}), staged, findings),
        not_validated=_not_validated(steps, staged, published) if not judged else (),
        findings=findings,
        conservation=conservation_totals(json.loads(applied.counts)) if applied else {},
        scope=str(judged.get("scope", "")),
    )


def quarantined_messages(rows: Iterable[QuarantineRow]) -> tuple[QuarantinedMessage, ...]:
    """The messages that a run itself set aside, by place, as many as a page shows.

    Args:
        rows: Its rows of `quality.quarantine`.
    """
    mine = map(QuarantinedMessage.of, (row for row in rows if row.state == "open"))
    return tuple(sorted(mine, key=lambda message: message.at)[:MESSAGES_SHOWN])


def recorded_findings(rows: Iterable[ResultRow]) -> tuple[ReportFinding, ...]:
    """Rows of `quality.results` as a report has them."""
    found = []
    for row in rows:
        observed = json.loads(row.observed)
        problem = observed.pop("problem", "")
        found.append(
            ReportFinding(
                suite=row.suite,
                subject=row.table,
                rule=row.expectation,
                description=row.description,
                severity=row.severity,
                success=row.success,
                observed=observed,
                expected=row.expected,
                problem=problem,
                samples=_samples(row),
            )
        )
    return tuple(found)


def newest_of_each(results: Iterable[ResultRow]) -> list[ResultRow]:
    """Of each suite, the results of its newest validation."""
    results = list(results)
    newest = {
        suite: max(result.validated_at for result in results if result.suite == suite)
        for suite in {result.suite for result in results}
    }
    return sorted(
        (result for result in results if result.validated_at == newest[result.suite]),
        key=lambda result: (result.suite, result.table, result.expectation),
    )


def _not_validated(
    steps: Sequence[RunRow], staged: StagedCut | None, published: Sequence[str]
) -> tuple[str, ...]:
    """What a run that failed would have validated; before it staged anything, every table."""
    if all(row.status == SUCCEEDED for row in steps):
        return ()
    if staged is not None:
        return tuple(table.silver for table in staged.tables if table.changed)
    return tuple(published)


def _not_judged(reasons: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{table}: not judged: {each}" for table, mine in reasons.items() for each in mine]


def _step(row: RunRow) -> ReportStep:
    seconds = (row.ended_at - row.started_at).total_seconds()
    return ReportStep(row.step, row.status, row.message, round(seconds, 1))


def _tables(
    verdicts: Mapping[str, str], staged: StagedCut | None, findings: Iterable[ReportFinding]
) -> tuple[ReportTable, ...]:
    measured: dict[str, dict[str, int | str | None]] = {}
    for finding in findings:
        measured.setdefault(finding.subject, {}).update(finding.observed)
    identities = {table.silver: table.identity for table in staged.tables} if staged else {}
    return tuple(
        ReportTable(
            silver=silver,
            identity=TableIdentity.of(identities[silver]).full_name if silver in identities else "",
            verdict=verdict,
            rows=_number(measured.get(silver, {}).get("row_count")),
            changed_rows=_number(measured.get(silver, {}).get("changed_rows")),
        )
        for silver, verdict in sorted(verdicts.items())
    )


def _number(value: int | str | None) -> int | None:
    return value if isinstance(value, int) else None


def _samples(row: ResultRow) -> tuple[Sample, ...]:
    found = []
    for entry in json.loads(row.samples or "[]"):
        places = tuple((topic, number, offset) for topic, number, offset in entry["messages"])
        query = messages_query(row.source, places) if places else ""
        found.append(Sample(entry["key"], places, query))
    return tuple(found)
