"""The members of an object's type, whatever they are called and however deep they are."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from lakehouse.plan.schemas.json_types import object_members

SCALARS = st.sampled_from(["BIGINT", "STRING", "VOID", "VARIANT", "DECIMAL(3,1)"])
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.sampled_from(
    ["a b", "x`y", "`", "a: BIGINT, b", "<", ">>", "OBJECT<a: VOID>", "1", ", ", ""]
)


def quoted(name: str) -> str:
    """As Spark's `quoteIfNeeded` does."""
    plain = re.fullmatch(r"[a-zA-Z0-9_]+", name) and not re.fullmatch(r"\d+", name)
    return name if plain else "`" + name.replace("`", "``") + "`"


def written(members: dict[str, str]) -> str:
    return f"OBJECT<{', '.join(f'{quoted(name)}: {kind}' for name, kind in members.items())}>"


TYPES = st.recursive(
    SCALARS,
    lambda inner: (
        inner.map(lambda kind: f"ARRAY<{kind}>")
        | st.dictionaries(NAMES, inner, max_size=3).map(written)
    ),
)


@given(st.dictionaries(NAMES, TYPES, max_size=4))
def test_members_are_read_as_they_were_written(members: dict[str, str]) -> None:
    assert object_members(written(members)) == dict(sorted(members.items()))


def test_what_is_no_object_has_none() -> None:
    for text in (None, "", "VOID", "ARRAY<OBJECT<a: BIGINT>>", "OBJECT<>", "VARIANT"):
        assert object_members(text) == {}
