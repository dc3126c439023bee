"""The page of what benchmarks measured: what falls short of what is asked is told."""

from __future__ import annotations

import pytest

from tests.bench.cpu import Cost
from tests.bench.report import page, reached
from tests.bench.results import Result, cpu_ratios, load, measured


def result(value: float, target: str) -> Result:
    return measured(("W4", "10 changes"), "apply", [value], "CPU s", target)


@pytest.mark.parametrize(
    ("value", "target", "is_reached"),
    [
        (5, "at most 5", True),
        (5.1, "at most 5", False),
        (0.4, "at least 0.4", True),
        (0.39, "at least 0.4", False),
        (1, "more than 1", False),
        (1.01, "more than 1", True),
        (2_001, "at most 2,000", False),
        (7, "", True),
    ],
)
def test_a_value_reaches_what_is_asked_or_does_not(value, target, is_reached):
    assert reached(result(value, target)) is is_reached


def test_the_page_has_each_thing_once_with_its_newest_value_and_marks_what_falls_short(
    tmp_path, monkeypatch
):
    kept = tmp_path / "results.jsonl"
    monkeypatch.setenv("BENCH_RESULTS", str(kept))
    for value in (4, 6):
        result(value, "at most 5").keep()
    measured(("W3", "2 tables"), "run", [1, 3, 2], "s").keep()

    lines = page(load(kept)).splitlines()

    [shown] = [line for line in lines if "apply" in line and "|" in line]
    assert "| **6 CPU s** | at most 5 |" in shown
    [other] = [line for line in lines if line.startswith("| 2 tables")]
    assert "| run | 2 s (1 to 3) |  |" in other
    titles = [line for line in lines if line.startswith("## ")]
    assert [title[:5] for title in titles] == ["## W3", "## W4"]


def test_ratios_are_of_the_same_round():
    mine, others = [Cost(2, 1), Cost(9, 1)], [Cost(1, 1), Cost(3, 1)]
    assert cpu_ratios(mine, others) == [2, 3]


def test_a_result_is_one_line_for_a_person():
    line = "W4, 10 changes: apply 1,234 CPU s; at most 5 is asked for"
    assert str(result(1234, "at most 5")) == line
