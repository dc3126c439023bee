"""Expectations over the runs: which failed when, and which never did; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lakehouse.quality.pages.facts import RunFacts
from lakehouse.quality.pages.model import RuleLine
from lakehouse.quality.pages.plots import Cell

_RULES_SHOWN = 60
_Rule = tuple[str, str]


def rule_lines(runs: Sequence[RunFacts]) -> tuple[tuple[RuleLine, ...], tuple[str, ...]]:
    """The expectations that failed in some run, the most frequent first; the names of the others.

    Args:
        runs: Oldest first.
    """
    tallies = [_tally(run) for run in runs]
    told = {(row.suite, row.expectation): row.description for run in runs for row in run.results}
    lines = [_line(rule, text, tallies) for rule, text in sorted(told.items())]
    bad = sorted((each for each in lines if each.failures), key=lambda each: -each.failures)
    good = tuple(f"{each.suite}.{each.rule}" for each in lines if not each.failures)
    return tuple(bad[:_RULES_SHOWN]), good


@dataclass(frozen=True, slots=True)
class _Tally:
    """Of one run, by expectation: subjects judged, those that failed, and how severe it is."""

    label: str
    judged: Counter[_Rule]
    failed: Counter[_Rule]
    severity: dict[_Rule, str]


def _tally(run: RunFacts) -> _Tally:
    judged: Counter[_Rule] = Counter()
    failed: Counter[_Rule] = Counter()
    for row in run.results:
        judged[(row.suite, row.expectation)] += 1
        failed[(row.suite, row.expectation)] += not row.success
    severity = {(row.suite, row.expectation): row.severity for row in run.results}
    return _Tally(run.label, judged, failed, severity)


def _line(rule: _Rule, description: str, tallies: Sequence[_Tally]) -> RuleLine:
    failures = sum(tally.failed[rule] > 0 for tally in tallies)
    return RuleLine(*rule, description, failures, tuple(_cell(rule, tally) for tally in tallies))


def _cell(rule: _Rule, tally: _Tally) -> Cell:
    judged, failed = tally.judged[rule], tally.failed[rule]
    if not judged:
        return Cell("", f"{tally.label}: not judged")
    if not failed:
        return Cell("passed", f"{tally.label}: passed for {judged}")
    tone = {"critical": "failed", "warning": "warning"}.get(tally.severity[rule], "")
    return Cell(tone, f"{tally.label}: failed for {failed} of {judged}")
