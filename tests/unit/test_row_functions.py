"""Which functions the condition of a rule may call: none that does more than look at a row."""

from __future__ import annotations

import pytest

from lakehouse.config.row_functions import REFUSED, refusal
from lakehouse.config.rules import read_columns

PLAIN = {
    "total < 0 AND (id IN (1, 2) OR NOT (note LIKE 'x%'))": ("id", "note", "total"),
    "cast(a AS decimal(10, 2)) <> try_cast(b AS varchar(9))": ("a", "b"),
    "at > current_timestamp() OR day < current_date - INTERVAL (1) DAY": ("at", "day"),
    "CASE WHEN (a > 1) THEN (b) ELSE (c) END IS NULL": ("a", "b", "c"),
    "exists(tags, t -> length(t) > 9) OR map_filter(m, (k, v) -> k > v) IS NULL": None,
    "a NOT BETWEEN (1) AND (2) OR a LIKE ANY ('x', 'y') OR a RLIKE r'\\d+'": ("a",),
    "extract(year FROM (a)) = 1 OR substring(b FROM (1) FOR (2)) = 'x'": None,
    "from_json(a, 'b int').b > 5L OR get_json_object(a, '$.c') = 'it\\'s -- no /* comment'": ("a",),
    "`java_method` = 'reflect(1)' OR user = \"uuid()\" OR `current_user` = '😀'": (
        "current_user",
        "java_method",
        "user",
    ),
    "`a--b` IS NULL OR `a/*b` < -1": ("a--b", "a/*b"),
    "nvl(a, '') || upper(trim(BOTH ' ' FROM (b))) <=> concat_ws('-', a, b)": ("a", "b"),
}


@pytest.mark.parametrize("condition", PLAIN)
def test_what_looks_at_a_row_is_no_matter(condition: str) -> None:
    columns = read_columns(condition)
    assert PLAIN[condition] in (None, columns)


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_more_is_refused_with_its_name_and_why(name: str) -> None:
    said = refusal(f"a > 1 AND {name.upper()} () IS NULL")
    assert said == f"{name}: {REFUSED[name]}; compare values of the row instead"


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("`reflect`('java.lang.System', 'exit', 1) = 'x'", "reflect"),
        ("transform(a, x -> Reflect(x)) IS NULL", "reflect"),
        ("system.builtin.java_method('a', 'b') = 'x'", "java_method"),
        ("CASE WHEN a > 1 THEN java_method('a', 'b') END = 'x'", "java_method"),
        ("current_user = 'x'", "current_user"),
        ("session_user IS NULL", "session_user"),
        ("spark_catalog.x.length(a) > 1", "length"),
        ("lakehouse.system.iceberg_version() = 'x'", "iceberg_version"),
        ("identifier('reflect') IS NULL", "identifier"),
        ("lenght(a) > 1", "lenght"),
        ("sum_of_all(a) > 1", "sum_of_all"),
        ("explode_outer(a) IS NULL", "explode_outer"),
    ],
)
def test_no_spelling_and_no_unknown_function_gets_by(condition: str, name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}: (it|expected) "):
        read_columns(condition)


@pytest.mark.parametrize(
    "condition",
    [
        "a > 1 -- java",
        "a > 1 /* java */",
        # Text of one reader that is code of another: Spark nests comments, and goes on with one
        # behind a backslash.
        '/* /* */ \' */ java_method("a", "b") IS NULL -- \'',
        'a = -- \\\n \'\n 1 OR java_method("a", "b") IS NULL -- \'',
        "{# x #} a > 1",
    ],
)
def test_a_comment_is_refused_whose_end_is_not_sure(condition: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        read_columns(condition)
