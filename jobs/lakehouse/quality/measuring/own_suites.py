"""Suites of a table's own rules, from the TOML file or from a data contract.

In: the rules of a table, and its metrics. Out: a suite, judged like every other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from expectations import Severity, Suite
from expectations.suite import counted_rows
from lakehouse.config.rules import OwnRule
from lakehouse.quality.judgement import Judgement, Measurement, judge


def rule_metric(name: str) -> str:
    """The metric that counts the rows which break a rule."""
    return f"rule_{name}"


def own_suite(table: str, rules: Iterable[OwnRule]) -> Suite:
    """The suite of one silver table."""
    return Suite(
        name=f"own_{table}",
        subject="silver table",
        description=f"What {table} is expected to hold, as its owner wrote it.",
        rules=tuple(
            counted_rows(
                rule_metric(rule.name),
                (rule.at_least, rule.most),
                name=rule.name,
                description=rule.description,
                severity=Severity(rule.severity),
                expected=rule.expected,
            )
            for rule in rules
        ),
    )


def judge_own(
    rules: Mapping[str, Sequence[OwnRule]], measured: Iterable[Measurement]
) -> tuple[Judgement, ...]:
    """Judge the tables that have rules of their own.

    Args:
        rules: Silver table → its rules.
        measured: The metrics of silver tables.
    """
    return tuple(
        judge(own_suite(each.subject, rules[each.subject]), [each])
        for each in measured
        if rules.get(each.subject)
    )
