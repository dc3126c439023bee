"""What a suite is: rules over one row of metrics per subject, as data.

In: nothing. Out: `Suite` values, from which `expectations.building` makes Expectation Suites of
Great Expectations. A subject is what one row of metrics describes: a silver table, a topic
partition, a schema change topic. Spark computes the metrics; a rule never sees a row's value.
Great Expectations: https://docs.greatexpectations.io/docs/core/introduction/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """What a failure does.

    `critical` keeps the table unpublished, `warning` makes the run end with warnings, `info` is
    shown: what is so, and need not be mended.
    """

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


def counts_as_passed(*, success: bool, severity: str) -> bool:
    """Whether nothing is to be mended: it passed, or it only shows what is so."""
    return success or severity == Severity.INFO


@dataclass(frozen=True, slots=True)
class Rule:
    """One Expectation of a suite.

    Attributes:
        name: Unique in its suite; trends in `quality.results` go by it.
        expectation: The type in Great Expectations.
        columns: The metrics that it looks at, the judged one first.
        kwargs: The Expectation's arguments.
        description: What holds when it passes, for a person who knows the source.
        expected: The expectation in a few words, such as `0` or `= rows_expected`.
        optional: True when a subject may lack the metric; it is then not judged. A rule that is
            not optional fails without its metric: what was not measured has not passed.
    """

    name: str
    expectation: str
    columns: tuple[str, ...]
    kwargs: Mapping[str, object]
    description: str
    severity: Severity
    expected: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Suite:
    """An Expectation Suite.

    Attributes:
        name: As in `quality.results.suite`.
        subject: What one row of metrics describes.
        description: One sentence for the report.
    """

    name: str
    subject: str
    description: str
    rules: tuple[Rule, ...] = field(repr=False)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that a rule looks at, once, in the order of the rules."""
        return tuple(dict.fromkeys(column for rule in self.rules for column in rule.columns))


def none_of(
    metric: str,
    description: str,
    *,
    severity: Severity = Severity.CRITICAL,
    optional: bool = False,
    beside: tuple[str, ...] = (),
) -> Rule:
    """The metric counts what must not be: it is 0. `beside` names metrics that are only shown."""
    return Rule(
        name=f"no_{metric}",
        expectation="expect_column_values_to_be_in_set",
        columns=(metric, *beside),
        kwargs={"column": metric, "value_set": [0]},
        description=description,
        severity=severity,
        expected="0",
        optional=optional,
    )


def equal(
    metric: str,
    other: str,
    description: str,
    *,
    severity: Severity = Severity.CRITICAL,
    optional: bool = False,
) -> Rule:
    """The metric equals another one."""
    return Rule(
        name=f"{metric}_equals_{other}",
        expectation="expect_column_pair_values_to_be_equal",
        columns=(metric, other),
        kwargs={"column_A": metric, "column_B": other, "ignore_row_if": "either_value_is_missing"},
        description=description,
        severity=severity,
        expected=f"= {other}",
        optional=optional,
    )


def counted_rows(
    metric: str,
    limits: tuple[int, int | None],
    *,
    name: str,
    description: str,
    severity: Severity,
    expected: str,
) -> Rule:
    """The metric counts rows by a rule of a person: from a least to a greatest number, if any."""
    least, most = limits
    return Rule(
        name=name,
        expectation="expect_column_values_to_be_between",
        columns=(metric,),
        kwargs={"column": metric, "min_value": least, "max_value": most},
        description=description,
        severity=severity,
        expected=expected,
    )


def at_most(
    metric: str,
    limit: str,
    description: str,
    *,
    severity: Severity = Severity.CRITICAL,
    optional: bool = False,
) -> Rule:
    """The metric is not greater than another one."""
    return Rule(
        name=f"{metric}_within_{limit}",
        expectation="expect_column_pair_values_a_to_be_greater_than_b",
        columns=(metric, limit),
        kwargs={
            "column_A": limit,
            "column_B": metric,
            "or_equal": True,
            "ignore_row_if": "either_value_is_missing",
        },
        description=description,
        severity=severity,
        expected=f"≤ {limit}",
        optional=optional,
    )
