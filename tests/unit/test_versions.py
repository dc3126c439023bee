"""What all schema versions of a table have in common, and how SQL tells them apart."""

from __future__ import annotations

import pytest

from lakehouse.plan.batches.tables import Version
from lakehouse.plan.schemas.types import Column, Kind, ValueType
from lakehouse.spark.decoding.versions import by_version, token_fields


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["a"], "a"),
        (["a", "a", "a"], "a"),
        (["a", "b"], "CASE WHEN version = 1 THEN a ELSE b END"),
        (["a", "b", "b", "b"], "CASE WHEN version = 1 THEN a ELSE b END"),
        (["a", "a", "b"], "CASE WHEN version BETWEEN 1 AND 2 THEN a ELSE b END"),
        (["b", "a", "b"], "CASE WHEN version = 2 THEN a ELSE b END"),
        (
            ["b", "a", "b", "a", "c", "b", "b"],
            "CASE WHEN version = 5 THEN c WHEN version = 2 OR version = 4 THEN a ELSE b END",
        ),
    ],
)
def test_only_what_differs_is_asked_for(texts, expected):
    assert by_version(texts) == expected


def test_columns_that_differ_by_case_alone_have_fields_of_their_own():
    kind = ValueType(Kind.CAST, "int")
    versions = [
        Version(number, tuple(Column(name, kind, optional=True) for name in names), None, {})
        for number, names in enumerate((["id", "A"], ["a", "id"], ["a'", "A"]))
    ]
    assert token_fields(versions) == {"id": "id", "A": "A", "a": "a'", "a'": "a''"}
