"""Which JSON types of a row image are those that its schema promises, and no others."""

from __future__ import annotations

import re

import pytest

from lakehouse.plan.schemas.types import Column, Kind, ValueType
from lakehouse.spark.decoding.shapes import fits

STRING, NUMBER = ValueType(Kind.CAST, "string"), ValueType(Kind.CAST, "bigint")
ARRAY = ValueType(Kind.ARRAY, "array<string>", element=STRING)
POINT = ValueType(Kind.STRUCT, "struct<x:double>")
MAP = ValueType(Kind.MAP, "map<string,bigint>", element=NUMBER)
PAIRS = ValueType(Kind.MAP, "map<bigint,bigint>", element=NUMBER, key=NUMBER)
MASKED = ValueType(Kind.HASHED, "string", element=STRING)


def columns(**types: ValueType) -> list[Column]:
    return [Column(name, of, optional=True, doc="") for name, of in types.items()]


def is_fitting(text: str, found: list[Column], withheld: tuple[str, ...] = ()) -> bool:
    """Ask as Spark does; possessive groups mean the same in both."""
    condition = fits(found, withheld)
    pattern = condition.split("RLIKE ", 1)[1][1:-1].replace("\\\\", "\\").replace("''", "'")
    return re.search(pattern, text) is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("OBJECT<a: STRING, v: STRING>", True),
        ("OBJECT<v: STRING>", True),
        ("OBJECT<>", True),
        ("OBJECT<a: DECIMAL(3,1), v: STRING>", True),
        ("OBJECT<a: OBJECT<x: BIGINT, `<`: ARRAY<STRING>>, v: STRING>", True),
        ("OBJECT<a: STRING, v: BIGINT>", False),
        ("OBJECT<a: STRING, v: STRING, zz: STRING>", False),
        ("OBJECT<a: STRING, b: STRING, v: STRING>", False),
        ("OBJECT<a: OBJECT<x: BIGINT>, b: OBJECT<y: BIGINT>, v: STRING>", False),
    ],
)
def test_a_column_that_nothing_may_see_hides_no_other(text: str, *, expected: bool) -> None:
    assert is_fitting(text, columns(a=MASKED, v=STRING)) is expected
    assert is_fitting(text, columns(v=STRING), withheld=("a",)) is expected


@pytest.mark.parametrize("kind", [ARRAY, POINT])
def test_a_nested_column_hides_no_other(kind: ValueType) -> None:
    name = {Kind.ARRAY: "ARRAY", Kind.STRUCT: "OBJECT"}[kind.kind]
    inner = {"ARRAY": "STRING", "OBJECT": "x: DOUBLE, `y, z: <`: VOID"}[name]
    one = f"{name}<{inner}>"

    assert is_fitting(f"OBJECT<a: {one}, b: BIGINT, c: {one}>", columns(a=kind, b=NUMBER, c=kind))
    for other in ("b: STRING", "z: BIGINT"):
        wrong = f"OBJECT<a: {one}, {other}, c: {one}>"
        assert not is_fitting(wrong, columns(a=kind, b=NUMBER, c=kind))


def test_a_map_is_sent_as_an_object_or_as_pairs_where_its_keys_are_no_text() -> None:
    sent = ("OBJECT<a: OBJECT<x: BIGINT>>", "OBJECT<a: ARRAY<ARRAY<BIGINT>>>")

    assert [is_fitting(text, columns(a=MAP)) for text in sent] == [True, False]
    assert [is_fitting(text, columns(a=PAIRS)) for text in sent] == [False, True]


def test_an_image_of_many_columns_is_told_at_once() -> None:
    found = columns(**{f"c{number:04}": MASKED for number in range(2000)})
    text = ", ".join(f"{column.name}: STRING" for column in found)

    assert is_fitting(f"OBJECT<{text}>", found)
    assert not is_fitting(f"OBJECT<{text}, c2: STRING>", found)
