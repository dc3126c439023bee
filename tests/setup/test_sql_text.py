"""Text gets into Spark's SQL as a literal: nobody puts quotes around a value by hand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

JOBS = Path(__file__).resolve().parents[2] / "jobs" / "lakehouse"
# Where SQL for Spark is written; all else that has apostrophes is a sentence for a person.
FOLDERS = ("spark", "steps", "quality")
# What makes a literal of any text.
ALLOWED = [("spark/sql.py", "escaped")]
_APOSTROPHE = re.compile(r"(?<=[a-z])'(?=[a-z])")


def quoted_by_hand(code: str) -> Iterator[str]:
    """What f-strings put between single quotes."""
    for found in ast.walk(ast.parse(code)):
        if isinstance(found, ast.JoinedStr):
            before = ""
            for part in found.values:
                if isinstance(part, ast.Constant):
                    before += _APOSTROPHE.sub("", str(part.value))
                elif isinstance(part, ast.FormattedValue) and before.count("'") % 2:
                    yield ast.unparse(part.value)


def test_no_text_is_put_between_quotes_but_by_literal() -> None:
    files = [path for folder in FOLDERS for path in (JOBS / folder).rglob("*.py")]
    assert len(files) > 150
    found = [
        (str(path.relative_to(JOBS)), text)
        for path in sorted(files)
        for text in quoted_by_hand(path.read_text(encoding="utf-8"))
    ]
    assert found == ALLOWED


@pytest.mark.parametrize(
    "code",
    [
        """f"'{key}'='{value}'" """,
        """f"CALL x.fast_forward('main', '{branch}')" """,
        """f"xxhash64('{salt}', a)" """,
        """f"get(payload, '$.{name}')" f" AND '{x}' = b" """,
        """f"{a}, TIMESTAMP '{time:%Y}+00:00'" """,
    ],
)
def test_text_that_is_put_between_quotes_would_be_seen(code: str) -> None:
    assert list(quoted_by_hand(code))


@pytest.mark.parametrize(
    "code",
    ["""f"{literal(key)} = {x} AND a = 'b' AND c = {y}" """, """f"the table's rows: {rows}" """],
)
def test_sentences_and_literals_are_no_finding(code: str) -> None:
    assert not list(quoted_by_hand(code))
