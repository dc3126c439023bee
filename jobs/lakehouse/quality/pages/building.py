"""The page of a source from its rows, pure: runs, plots, tables, quarantine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from lakehouse.plan.records import QuarantineRow
from lakehouse.quality.pages.cards import cards
from lakehouse.quality.pages.facts import RunFacts, facts_of, tone_of
from lakehouse.quality.pages.held import held_tables
from lakehouse.quality.pages.history import histories
from lakehouse.quality.pages.model import QuarantineReason, RunLine, SourcePage, TableLine
from lakehouse.quality.pages.plots import Cell, Stack, chart, line
from lakehouse.quality.pages.reading import SourceRecords
from lakehouse.quality.pages.rules import rule_lines
from lakehouse.quality.reports.report import MESSAGES_SHOWN, QuarantinedMessage
from lakehouse.quality.reports.table_states import TableState, table_states


def source_page(records: SourceRecords) -> SourcePage:
    """The page of a source.

    Args:
        records: Its rows; of one run at least.
    """
    runs = facts_of(records)
    states = table_states(records.cut, records.connector, records.versions) if records.cut else ()
    tables = tuple(_table(state, runs) for state in states)
    held = held_tables(records, states, runs)
    rules, always = rule_lines(runs)
    return SourcePage(
        source=records.source,
        verdict=runs[-1].verdict,
        message=runs[-1].message,
        as_of=runs[-1].ended,
        cards=cards(records, runs, tables, len(held)),
        held=held,
        quarantine=_quarantine(records.quarantine),
        quarantined=len(records.quarantine),
        is_counted_in_full=records.is_quarantine_whole,
        runs=tuple(_run(run) for run in reversed(runs)),
        expectations=chart("Expectations judged", [_judged(run) for run in runs], "expectations"),
        applied=chart("Changes applied", [_applied(run) for run in runs], "change events"),
        duration=chart("Seconds of work", [_duration(run) for run in runs], "seconds"),
        rules=rules,
        always_passed=always,
        tables=tables,
        histories=histories(records.versions),
    )


def _run(run: RunFacts) -> RunLine:
    return RunLine(
        name=run.name,
        key=run.key,
        verdict=run.verdict,
        message=run.message,
        stopped=run.stopped,
        ended=run.ended,
        seconds=round(run.seconds, 1),
        landed=run.landed,
        applied=run.law.get("applied", 0),
        passed=run.passed,
        failures=run.failed,
    )


def _judged(run: RunFacts) -> Stack:
    bad = Counter(row.severity for row in run.results if not row.success)
    values = {
        "passed": run.passed,
        "warning": bad["warning"],
        "failed": run.failed - bad["warning"],
    }
    return Stack(run.ended, values, _told(run, f"{run.passed} passed, {run.failed} failed"))


def _applied(run: RunFacts) -> Stack:
    count = run.law.get("applied", 0)
    return Stack(run.ended, {"plain": count}, _told(run, f"{count:,} change events applied"))


def _duration(run: RunFacts) -> Stack:
    tone = "failed" if run.stopped else "plain"
    return Stack(run.ended, {tone: run.seconds}, _told(run, f"{run.seconds:.1f} s"))


def _told(run: RunFacts, text: str) -> str:
    return f"{run.label}: {text}" + (f"; stopped at {run.stopped}" if run.stopped else "")


def _table(state: TableState, runs: Sequence[RunFacts]) -> TableLine:
    silver, last = state.silver, runs[-1].staged.get(state.silver)
    trend = [run.staged[silver].rows if silver in run.staged else None for run in runs]
    return TableLine(
        silver=silver,
        identity=state.identity,
        state=state.state,
        reason=state.reason,
        cut_id=state.cut_id,
        held_keys=state.held_keys,
        rows=next((rows for rows in reversed(trend) if rows is not None), None),
        changes=last.upserts + last.deletes if last else 0,
        trend=line(trend, "rows"),
        verdicts=tuple(_verdict(run, silver) for run in runs),
    )


def _verdict(run: RunFacts, silver: str) -> Cell:
    verdict = run.verdicts.get(silver, "")
    return Cell(tone_of(verdict), f"{run.label}: {verdict or 'not changed, or not validated'}")


def _quarantine(waiting: Iterable[QuarantineRow]) -> tuple[QuarantineReason, ...]:
    """By reason, the most frequent first; of each the newest messages."""
    by_reason: dict[str, list[QuarantineRow]] = {}
    for row in sorted(waiting, key=lambda row: row.recorded_at, reverse=True):
        by_reason.setdefault(row.reason, []).append(row)
    ordered = sorted(by_reason.items(), key=lambda entry: len(entry[1]), reverse=True)
    return tuple(
        QuarantineReason(
            reason, len(rows), tuple(map(QuarantinedMessage.of, rows[:MESSAGES_SHOWN]))
        )
        for reason, rows in ordered
    )
