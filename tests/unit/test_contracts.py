"""Quality rules of data contracts: each has counts that it passes and counts that it fails."""

from __future__ import annotations

import pytest

from lakehouse.config.contract_options import bad_value
from lakehouse.config.contract_quality import quality_rule
from lakehouse.config.contract_values import Document
from lakehouse.config.rules import OwnRule
from lakehouse.quality.judgement import Measurement
from lakehouse.quality.measuring.own_suites import judge_own, rule_metric

COLUMNS = {"id": "ID", "tenant": "tenant_id"}
NULLS = {"metric": "nullValues"}
COUNT = "SELECT COUNT(*) FROM {object} WHERE {property} < 0"


def rule_of(given: Document, column: str = "status") -> OwnRule:
    found = quality_rule(given, column, COLUMNS)
    assert isinstance(found, dict), found
    return OwnRule.model_validate(found)


# What a contract says → counts that pass, counts that fail.
LIMITS = {
    "mustBe: 0": ({"mustBe": 0}, [0], [1]),
    "mustBe: 5": ({"mustBe": 5}, [5], [4, 6, 0]),
    "mustNotBe: 0": ({"mustNotBe": 0}, [1, 9], [0]),
    "mustBeLessThan: 3": ({"mustBeLessThan": 3}, [0, 2], [3]),
    "mustBeLessThan: 2.5": ({"mustBeLessThan": 2.5}, [2], [3]),
    "mustBeLessOrEqualTo: 3": ({"mustBeLessOrEqualTo": 3}, [3], [4]),
    "mustBeGreaterThan: 3": ({"mustBeGreaterThan": 3}, [4, 10**12], [3]),
    "mustBeGreaterOrEqualTo: 3": ({"mustBeGreaterOrEqualTo": 3}, [3], [2]),
    "mustBeBetween: 2, 4": ({"mustBeBetween": [2, 4]}, [2, 3, 4], [1, 5]),
    "two operators": ({"mustBeGreaterThan": 2, "mustBeLessThan": 5}, [3, 4], [2, 5]),
}


@pytest.mark.parametrize("case", LIMITS)
def test_an_operator_passes_good_counts_and_fails_bad_ones(case: str) -> None:
    operator, good, bad = LIMITS[case]
    rule = rule_of({**NULLS, **operator})

    def passes(count: int) -> bool:
        measured = Measurement("t", {rule_metric(rule.name): count}, {})
        ((finding,),) = (each.findings for each in judge_own({"t": (rule,)}, [measured]))
        return finding.success

    assert {count: passes(count) for count in (*good, *bad)} == {
        **dict.fromkeys(good, True),
        **dict.fromkeys(bad, False),
    }


METRICS = {
    "nullValues": ({}, "`status` IS NULL"),
    "nullCheck": ({}, "`status` IS NULL"),
    "missingValues": (
        {"missingValues": [None, "", "N/A"]},
        "`status` IS NULL OR `status` IN ('', 'N/A')",
    ),
    "invalidValues": ({"validValues": ["a", None]}, "`status` NOT IN ('a')"),
    "validValues": (
        {"validValues": [1], "pattern": "^x"},
        "`status` NOT IN (1) OR NOT `status` RLIKE '^x'",
    ),
}


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_of_the_library_counts_rows_with_a_bad_value(metric: str) -> None:
    arguments, violated = METRICS[metric]

    found = rule_of({"rule": metric, "arguments": arguments, "mustBe": 0})

    assert (found.violated, found.most, found.needs_all_rows) == (violated, 0, False)


def test_what_repeats_and_how_many_rows_there_are_needs_all_rows() -> None:
    one = rule_of({"metric": "duplicateValues", "mustBeLessThan": 10})
    both = rule_of(
        {"metric": "duplicateValues", "arguments": {"properties": ["tenant", "id"]}, "mustBe": 0},
        "",
    )
    rows = rule_of({"metric": "rowCount", "mustBeBetween": [100, 120]}, "")
    counted = rule_of({"type": "sql", "query": "SELECT count(1) FROM orders;", "mustBe": 7})

    assert [each.unique for each in (one, both, rows)] == [("status",), ("tenant_id", "ID"), ()]
    assert [each.expected for each in (one, both, rows, counted)] == [
        "≤ 9 rows",
        "≤ 0 rows",
        "from 100 to 120 rows",
        "from 7 to 7 rows",
    ]
    assert all(each.needs_all_rows for each in (one, both, rows, counted))


def test_a_share_of_rows_needs_all_rows() -> None:
    share = rule_of({**NULLS, "mustBeLessOrEqualTo": 1.5, "unit": "percent"})
    below = rule_of({**NULLS, "mustBeLessThan": 1, "unit": "percent"})

    assert (share.expected, share.needs_all_rows) == ("≤ 1.5 % of the rows", True)
    assert below.at_most_percent is not None
    assert 0.999999 < below.at_most_percent < 1


def test_severity_and_text_are_those_of_the_contract() -> None:
    given = {"type": "sql", "query": COUNT, "mustBe": 0, "severity": "error", "name": "Not bad"}
    found = rule_of({**given, "description": "None is negative"})

    assert (found.name, found.description) == ("status_not_bad", "None is negative.")
    assert (found.violated, found.severity) == ("`status` < 0", "critical")
    assert quality_rule({"type": "text", "description": "Nice"}, "", {}) is None


NOT_JUDGED = {
    "a rule for the engine 'soda'": {"type": "custom", "engine": "soda"},
    "a query other than SELECT COUNT(*) FROM … WHERE …": {
        "type": "sql",
        "query": "SELECT avg(x) FROM t",
        "mustBe": 0,
    },
    "the metric 'median' with these arguments is unknown": {"metric": "median", "mustBe": 0},
    "the metric 'invalidValues' with these arguments is unknown": {
        "metric": "invalidValues",
        "mustBe": 0,
    },
    "no operator such as mustBe": NULLS,
    "mustBe: 'many': no number": {**NULLS, "mustBe": "many"},
    "mustNotBe: 4: no limit from below or above": {**NULLS, "mustNotBe": 4},
    "mustNotBeBetween: [1, 3]: no limit from below or above": {**NULLS, "mustNotBeBetween": [1, 3]},
    "mustBeAbout: 3: no limit from below or above": {**NULLS, "mustBeAbout": 3},
    "the unit 'bytes'": {**NULLS, "mustBe": 0, "unit": "bytes"},
    "a share that rows must have at least": {**NULLS, "mustBeGreaterThan": 5, "unit": "percent"},
    "limits that no count, or every one, keeps to": {**NULLS, "mustBeLessThan": 0},
}


@pytest.mark.parametrize("reason", NOT_JUDGED)
def test_what_is_not_judged_has_a_reason(reason: str) -> None:
    assert quality_rule(NOT_JUDGED[reason], "status", COLUMNS) == reason


def test_properties_that_may_not_repeat_are_named() -> None:
    found = quality_rule({"metric": "duplicateValues", "mustBe": 0}, "", {})

    assert found == "the properties that may not repeat are not named"


@pytest.mark.parametrize(
    ("kind", "option", "said"),
    [
        ("time", "minimum", "08:00:00"),
        ("string", "format", "password"),
        ("date", "format", "yyyy-MM-dd"),
        ("integer", "format", "f32"),
        ("timestamp", "timezone", True),
        ("object", "minProperties", 2),
    ],
)
def test_what_silver_cannot_show_has_no_condition(kind: str, option: str, said: object) -> None:
    assert bad_value(option, said, kind, "`a`") is None
