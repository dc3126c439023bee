"""Differences between rows of a database and of silver are found and named."""

from __future__ import annotations

import pytest

from infra.demo.compare import row_differences

KEY = ("id", "line")


def row(identity, line, **values):
    return {"id": identity, "line": line, **values}


SOURCE = [row(1, 1, note="a"), row(1, 2, note=None), row(2, 1, note="c")]


def test_equal_rows_in_any_order_have_no_difference():
    assert row_differences(KEY, SOURCE, list(reversed(SOURCE))) == []


@pytest.mark.parametrize(
    ("silver", "difference"),
    [
        (SOURCE[:2], "id=2, line=1: only in the source"),
        ([*SOURCE, row(3, 1, note="d")], "id=3, line=1: only in silver"),
        ([*SOURCE, SOURCE[0]], "id=1, line=1: 2 rows in silver"),
        (
            [row(1, 1, note="b"), *SOURCE[1:]],
            "id=1, line=1: note is 'b', in the source 'a'",
        ),
        (
            [SOURCE[0], row(1, 2, note=""), SOURCE[2]],
            "id=1, line=2: note is '', in the source None",
        ),
    ],
)
def test_a_difference_names_key_and_values(silver, difference):
    assert row_differences(KEY, SOURCE, silver) == [difference]


def test_long_values_are_cut_off_in_the_sentence():
    [difference] = row_differences(("id",), [{"id": 1, "x": "y" * 500}], [{"id": 1, "x": None}])
    assert len(difference) < 120


def test_without_a_key_equal_rows_are_counted():
    expected = [{"a": 1, "j": {"x": 1, "y": [2]}}, {"a": 1, "j": {"y": [2], "x": 1}}]
    assert row_differences((), expected, list(reversed(expected))) == []
    [difference] = row_differences((), expected, expected[:1])
    assert difference.endswith("1 rows in silver, 2 in the source")
