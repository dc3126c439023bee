"""Each suite passes its good sample; each rule fails its bad one, and only that rule."""

from __future__ import annotations

import socket

import pytest

from expectations import SUITES, Suite
from lakehouse.quality.judgement import (
    Finding,
    Judgement,
    Measurement,
    Verdict,
    judge,
    verdict_of,
)
from tests.expectations.samples import BAD, GOOD, Values

RULES = [(suite, rule.name) for suite in SUITES.values() for rule in suite.rules]


def measured(suite: Suite, change: Values | None = None, subject: str = "one") -> Measurement:
    return Measurement(subject, GOOD[suite.name] | (change or {}), {})


def failed_rules(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.rule.name for finding in findings if not finding.success]


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_every_rule_has_a_bad_sample(suite: Suite) -> None:
    assert set(BAD[suite.name]) == {rule.name for rule in suite.rules}


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_a_suite_passes_its_good_sample(suite: Suite) -> None:
    findings = judge(suite, [measured(suite)]).findings

    assert len(findings) == len(suite.rules)
    assert failed_rules(findings) == []
    assert verdict_of(findings) is Verdict.PASSED


@pytest.mark.parametrize(("suite", "rule"), RULES, ids=[f"{s.name}-{r}" for s, r in RULES])
def test_a_rule_fails_its_bad_sample_and_no_other_rule_does(suite: Suite, rule: str) -> None:
    bad = measured(suite, BAD[suite.name][rule])

    assert failed_rules(judge(suite, [bad]).findings) == [rule]


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_rules_have_a_sentence_and_a_name_of_their_own(suite: Suite) -> None:
    assert all(rule.description.endswith(".") for rule in suite.rules)
    assert len({rule.name for rule in suite.rules}) == len(suite.rules)


def test_one_validation_tells_good_subjects_from_bad_ones() -> None:
    suite = SUITES["silver"]
    judgement = judge(
        suite,
        [
            measured(suite, subject="a"),
            measured(suite, {"duplicate_keys": 3}, subject="b"),
            measured(suite, {"nulls_in_required": 1}, subject="c"),
            measured(suite, {"lossy_columns": 2}, subject="d"),
        ],
    )

    assert verdicts(judgement) == {
        "a": Verdict.PASSED,
        "b": Verdict.FAILED,
        "c": Verdict.WARNING,
        "d": Verdict.PASSED,
    }
    assert [f.rule.name for f in judgement.findings if f.subject == "d" and not f.success] == [
        "no_lossy_columns"
    ]


def test_a_metric_that_was_not_measured_is_an_error_and_never_passed() -> None:
    suite = SUITES["silver"]
    findings = judge(suite, [measured(suite, {"missing_positions": None})]).findings

    assert verdict_of(findings) is Verdict.ERROR
    assert [f.problem for f in findings if not f.success] == ["not measured: missing_positions"]


def test_an_optional_metric_that_was_not_measured_is_not_judged() -> None:
    suite = SUITES["silver"]
    findings = judge(suite, [measured(suite, {"rows_expected": None})]).findings

    assert "row_count_equals_rows_expected" not in {finding.rule.name for finding in findings}
    assert verdict_of(findings) is Verdict.PASSED


def test_nothing_measured_is_no_data_and_never_passed() -> None:
    assert verdict_of(judge(SUITES["silver"], []).findings) is Verdict.NO_DATA


def test_numbers_beyond_53_bits_stay_exact() -> None:
    suite = SUITES["silver"]
    large = {"row_count": 2**60 + 1, "rows_expected": 2**60}

    findings = judge(suite, [measured(suite, large), measured(suite, subject="other")]).findings

    assert failed_rules(findings) == ["row_count_equals_rows_expected"]


def test_two_subjects_of_one_name_are_both_judged() -> None:
    suite = SUITES["bronze"]
    bad = measured(suite, {"duplicate_offsets": 1})

    assert failed_rules(judge(suite, [bad, bad]).findings) == ["no_duplicate_offsets"] * 2


def test_judging_uses_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError(f"connects to {arguments}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    suite = SUITES["bronze"]

    assert verdict_of(judge(suite, [measured(suite)]).findings) is Verdict.PASSED


def verdicts(judgement: Judgement) -> dict[str, Verdict]:
    subjects = {finding.subject for finding in judgement.findings}
    return {
        subject: verdict_of(f for f in judgement.findings if f.subject == subject)
        for subject in subjects
    }
