"""Findings as rows of `quality.results`, and the verdict of each table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lakehouse.plan.records import CHANGE, ResultRow
from lakehouse.quality.judgement import Finding, Verdict, verdict_of, worst
from lakehouse.quality.measuring.samples import Samples, samples_json
from lakehouse.quality.measuring.staged import Target

_ROWS_TOLD = 3


@dataclass(frozen=True, slots=True)
class Try:
    """One try of one run: what its results are keyed by."""

    source: str
    run_id: str
    run_started: datetime
    cut_id: str
    scope: str = CHANGE


def result_rows(
    of: Try, findings: Iterable[Finding], validated_at: datetime, samples: Samples
) -> tuple[ResultRow, ...]:
    """One row for each finding; metrics are counts and offsets, never a value of a row.

    Args:
        of: The try of the run.
        findings: What it found.
        validated_at: When.
        samples: Rows for which expectations fail.
    """
    return tuple(
        ResultRow(
            source=of.source,
            run_id=of.run_id,
            run_started=of.run_started,
            suite=finding.suite,
            table=finding.subject,
            cut=of.cut_id,
            expectation=finding.rule.name,
            description=finding.rule.description,
            severity=finding.rule.severity.value,
            success=finding.success,
            observed=json.dumps({**finding.observed, **_problem(finding)}, sort_keys=True),
            expected=finding.rule.expected,
            validated_at=validated_at,
            samples=samples_json(samples.get((finding.subject, finding.rule.name), ())),
            scope=of.scope,
        )
        for finding in findings
    )


def table_verdicts(
    targets: Sequence[Target], silver: Sequence[Finding], bronze: Sequence[Finding]
) -> dict[str, Verdict]:
    """The verdict of every staged table: its own findings, and those of its topics."""
    verdicts: dict[str, Verdict] = {}
    for target in targets:
        own, of_topics = _findings_of(target, silver, bronze)
        # Topics alone do not vouch for a table that was not judged itself.
        verdict = verdict_of(own)
        verdicts[target.silver] = (
            Verdict.ERROR if verdict is Verdict.NO_DATA else worst((verdict, verdict_of(of_topics)))
        )
    return verdicts


def blocking(
    targets: Sequence[Target], silver: Sequence[Finding], bronze: Sequence[Finding]
) -> dict[str, tuple[Finding, ...]]:
    """Silver table → the findings for which its rows are not published; those with some."""
    found = {
        target.silver: tuple(
            finding
            for findings in _findings_of(target, silver, bronze)
            for finding in findings
            if not finding.verdict.may_publish
        )
        for target in targets
    }
    return {table: findings for table, findings in found.items() if findings}


def refusal(findings: Sequence[Finding], samples: Samples) -> str:
    """Which expectation keeps a table back, and rows for which it fails, for a person.

    Args:
        findings: Those that keep it back; none where nothing of it was judged.
        samples: Rows for which expectations fail.
    """
    if not findings:
        return "nothing of it was judged"
    first, more = findings[0], len(findings) - 1
    text = f"{first.rule.name}: {_seen(first)}"
    rows = [row.key for row in samples.get((first.subject, first.rule.name), ()) if row.key]
    text += f", rows {', '.join(rows[:_ROWS_TOLD])}" if rows else ""
    return text + (f", and {more} more" if more else "")


def alarms(findings: Iterable[Finding]) -> tuple[str, ...]:
    """The findings that are critical, for a person, where they keep no table back."""
    return tuple(
        f"{finding.suite}: {finding.rule.name} of {finding.subject}: {_seen(finding)}"
        for finding in findings
        if not finding.verdict.may_publish
    )


def _seen(finding: Finding) -> str:
    observed = ", ".join(f"{key} = {value}" for key, value in finding.observed.items())
    return f"{finding.problem or observed} (expected {finding.rule.expected})"


def _findings_of(
    target: Target, silver: Sequence[Finding], bronze: Sequence[Finding]
) -> tuple[list[Finding], list[Finding]]:
    """Those of a table itself, and those of its topic partitions."""
    places = {f"{topic}/{partition}" for topic, partition in target.start}
    own = [finding for finding in silver if finding.subject == target.silver]
    return own, [finding for finding in bronze if finding.subject in places]


def _problem(finding: Finding) -> Mapping[str, str]:
    return {"problem": finding.problem} if finding.problem else {}
