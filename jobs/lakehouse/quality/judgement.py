"""Metrics judged by Great Expectations: one validation per suite, however many subjects.

In: a suite and one measurement per subject. Out: one finding per rule and subject. Great
Expectations leaves out rows without a value and can fail inside an Expectation without raising,
so what was not measured, and what could not be judged, is turned into a failure here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from expectations import Rule, Severity, Suite
from lakehouse.quality.engine import SUBJECT, validate

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult


class Verdict(StrEnum):
    """How a table, or a run, came out. Only `passed` and `warning` may be published."""

    PASSED = "passed"
    WARNING = "warning"
    FAILED = "failed"
    ERROR = "error"
    NO_DATA = "no data"

    @property
    def may_publish(self) -> bool:
        """Whether a table with this verdict may become part of a cut."""
        return self in (Verdict.PASSED, Verdict.WARNING)

    @property
    def exit_code(self) -> int:
        """0 passed or nothing to judge, 1 warnings, 2 critical."""
        return {"passed": 0, "no data": 0, "warning": 1, "failed": 2, "error": 2}[self.value]


_MEANING = {
    Severity.CRITICAL: Verdict.FAILED,
    Severity.WARNING: Verdict.WARNING,
    Severity.INFO: Verdict.PASSED,
}
_ORDER = (Verdict.NO_DATA, Verdict.PASSED, Verdict.WARNING, Verdict.FAILED, Verdict.ERROR)


@dataclass(frozen=True, slots=True)
class Measurement:
    """The metrics of one subject.

    Attributes:
        subject: Silver table, topic partition or topic.
        values: By metric; None where it could not be measured.
        notes: By metric, what a person wants to know beside the number, such as column names.
        broken: Metrics that have no number because what a person wrote cannot be computed: a rule
            about them has failed.
    """

    subject: str
    values: Mapping[str, int | None]
    notes: Mapping[str, str]
    broken: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule judged for one subject.

    Attributes:
        problem: Why a rule could not be judged.
        is_broken: Whether it is a person's, and cannot be computed: it is never passed.
    """

    suite: str
    subject: str
    rule: Rule
    success: bool
    observed: Mapping[str, int | str | None]
    problem: str = ""
    is_broken: bool = False

    @property
    def verdict(self) -> Verdict:
        """What this finding alone means."""
        if self.success:
            return Verdict.PASSED
        if self.problem:
            return Verdict.ERROR
        meant = _MEANING[self.rule.severity]
        return worst((meant, Verdict.WARNING)) if self.is_broken else meant


@dataclass(frozen=True, slots=True)
class Judgement:
    """One validation of one suite.

    Attributes:
        findings: By subject, in the suite's order of rules.
        validation: What Great Expectations returned; None when there was nothing to judge.
    """

    suite: Suite
    findings: tuple[Finding, ...]
    validation: ExpectationSuiteValidationResult | None


def judge(suite: Suite, measurements: Sequence[Measurement]) -> Judgement:
    """Validate the measurements of all subjects with one suite.

    Args:
        suite: The suite.
        measurements: One for each subject; none gives a judgement without findings.
    """
    if not measurements:
        return Judgement(suite, (), None)
    rows = [
        {SUBJECT: m.subject, **{name: m.values.get(name) for name in suite.metrics}}
        for m in measurements
    ]
    validation = validate(suite, rows)
    failures = _failures(suite, validation)
    findings = [
        finding
        for measurement in measurements
        for rule in suite.rules
        if (finding := _finding(suite, rule, measurement, failures[rule.name])) is not None
    ]
    return Judgement(suite, tuple(findings), validation)


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """The verdict of one subject, or of all; without findings there was no data."""
    return worst(finding.verdict for finding in findings)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts; `no data` for none."""
    return max(verdicts, key=_ORDER.index, default=Verdict.NO_DATA)


@dataclass(frozen=True, slots=True)
class _Failures:
    """What Great Expectations says about one rule: the subjects that fail, or its own trouble."""

    subjects: frozenset[str]
    problem: str = ""


def _finding(
    suite: Suite, rule: Rule, measurement: Measurement, failures: _Failures
) -> Finding | None:
    observed: dict[str, int | str | None] = {
        column: measurement.values.get(column) for column in rule.columns
    }
    missing = [column for column, value in observed.items() if value is None]
    if missing and rule.optional:
        return None
    is_broken = bool(measurement.broken.intersection(rule.columns))
    left_out = missing and not is_broken
    problem = f"not measured: {', '.join(missing)}" if left_out else failures.problem
    success = not (problem or is_broken) and measurement.subject not in failures.subjects
    if not success:
        notes = {column: measurement.notes.get(column) for column in rule.columns}
        observed |= {f"{column}_note": note for column, note in notes.items() if note}
    return Finding(suite.name, measurement.subject, rule, success, observed, problem, is_broken)


def _failures(
    suite: Suite, validation: ExpectationSuiteValidationResult
) -> Mapping[str, _Failures]:
    found: dict[str, _Failures] = {}
    for result in validation.results:
        configuration = result.expectation_config
        name = configuration.meta["rule"] if configuration and configuration.meta else ""
        listed = result.result.get("partial_unexpected_index_list") or []
        subjects = frozenset(str(entry[SUBJECT]) for entry in listed)
        complete = len(listed) == result.result.get("unexpected_count")
        if not result.result or bool(result.success) == bool(subjects) or not complete:
            reason = "could not be judged: Great Expectations did not evaluate it"
            found[name] = _Failures(frozenset(), reason)
        else:
            found[name] = _Failures(subjects)
    not_run = _Failures(frozenset(), "could not be judged: Great Expectations left it out")
    return {rule.name: found.get(rule.name, not_run) for rule in suite.rules}
