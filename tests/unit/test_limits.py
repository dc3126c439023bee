"""A table that messages describe too large is refused with the reason and the way out."""

from __future__ import annotations

import pytest

from lakehouse.connectors import CONNECTORS
from lakehouse.plan.schemas.limits import MAX_COLUMNS, MAX_DEPTH
from lakehouse.plan.schemas.row_schema import proven_schema, read_schema
from tests.support.bad_input import ID, envelope_schema, optional
from tests.support.bad_messages import nested

POSTGRESQL = CONNECTORS["postgresql"]


def problem(*columns: dict) -> str:
    return read_schema(envelope_schema((ID, *columns)), POSTGRESQL, {}).problem


def test_as_many_columns_as_there_may_be_are_read_and_one_more_is_not() -> None:
    columns = [optional(f"c{number}", "string") for number in range(MAX_COLUMNS)]
    assert problem(*columns[1:]) == ""
    assert f"{MAX_COLUMNS + 1} columns: expected at most {MAX_COLUMNS}" in problem(*columns)


@pytest.mark.parametrize("depth", [MAX_DEPTH, 400, 990, 100_000])
def test_types_inside_each_other_without_end_are_refused_in_words(depth: int) -> None:
    assert "column.exclude.list" in problem(nested(depth))


def test_arrays_of_arrays_are_read() -> None:
    assert problem(nested(6)) == ""


def test_messages_without_a_schema_have_no_more_columns_either() -> None:
    proven = {f"c{number}": "BIGINT" for number in range(MAX_COLUMNS + 1)}
    assert "expected at most" in proven_schema(proven, POSTGRESQL, {}, {}).problem


def test_what_is_wrong_with_a_schema_is_quoted_in_part() -> None:
    wrong = {"type": "struct", "fields": "x" * 1_000_000}
    assert len(read_schema(wrong, POSTGRESQL, {}).problem) < 300
