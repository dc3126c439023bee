"""How signals name tables: a Java expression and a parsed name at once, after Debezium's rules."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.errors import SignalRefused
from lakehouse.plan.signals.naming import collection_name

QUOTES = "\"'`"
CHARACTERS = st.text("ab.Ä $#-'\"`(|", min_size=1, max_size=6)
PARTS = st.tuples(CHARACTERS, CHARACTERS)


def python_pattern(text: str) -> re.Pattern[str]:
    """A Java expression as Python reads it."""
    plain = re.sub(r"\\x\{([0-9a-f]+)\}", lambda found: re.escape(chr(int(found[1], 16))), text)
    return re.compile(plain.removeprefix("(?-i)"))


def parse_parts(text: str) -> tuple[str, ...] | None:
    """Debezium's `TableIdParser.parse`; None where it finds no name."""
    parts, rest = [], text
    while True:
        rest = rest.lstrip()
        if rest[:1] in QUOTES and rest:
            quote = rest[0]
            found = re.match(rf"{quote}((?:[^{quote}]|{quote}{quote})*){quote}\s*(\.|$)", rest)
        else:
            found = re.match(r"([^\s.]+)\s*(\.|$)", rest)
        if found is None:
            return None
        part = found[1]
        for each in QUOTES[1:] + QUOTES[0]:
            part = part.replace(each * 2, each)
        parts.append(part)
        rest = rest[found.end() :]
        if not found[2]:
            return tuple(parts)


def expanded(text: str, known: set[str]) -> list[str]:
    """Debezium's `expandAndDedupeDataCollectionIds`."""
    pattern = python_pattern(text)
    return [each for each in sorted(known) if pattern.fullmatch(each)] or [text]


@pytest.mark.parametrize(
    ("parts", "incremental"),
    [
        (("public", "orders"), "public.orders"),
        (("shop", "größe_2"), "shop.größe_2"),
        (("Weird.S", "T.b"), '"Weird.S"."T.b"'),
        (("We ird.S", "T.b"), None),
        (("SYS", "A$B"), '"SYS"."A$B"'),
        (("s", "it's"), '''"s"."it''s"'''),
        (("s", "a(b"), r"(?-i)s\x{2e}a\x{28}b"),
    ],
)
def test_a_table_is_named_as_the_connector_wants_it(parts, incremental: str | None):
    assert collection_name(parts).incremental == incremental


def test_conditions_and_blocking_snapshots_tell_case_apart():
    name = collection_name(("public", "Orders"))
    assert name.incremental_filter == r"(?-i)public\x{2e}Orders"
    assert (name.blocking, name.blocking_filter) == (name.incremental_filter, "public.Orders")
    ugly = collection_name(("We,ird", "T.b"))
    assert ugly.blocking == r"(?-i)\x{22}We\x{2c}ird\x{22}\x{2e}\x{22}T\x{2e}b\x{22}"
    assert ugly.blocking_filter == '"We,ird"."T.b"'


@pytest.mark.parametrize("part", ['"a', 'a"', "`a", "a`", "[a", "a]", ""])
def test_a_name_that_the_connector_would_not_quote_is_refused(part: str):
    with pytest.raises(SignalRefused, match="expected parts"):
        collection_name(("public", part))


@pytest.mark.parametrize("part", ["a (b", "a.b|c", "a(b'c"])
def test_a_name_that_is_neither_an_expression_nor_a_quoted_name_is_refused(part: str):
    with pytest.raises(SignalRefused, match="no signal can name such a table"):
        collection_name(("public", part))


def test_a_condition_of_a_blocking_snapshot_has_no_way_to_name_a_bracket():
    assert collection_name(("public", "a(b")).blocking_filter is None


@given(parts=PARTS, others=st.sets(PARTS, max_size=5))
def test_the_connector_finds_this_table_and_no_other(parts, others):
    try:
        name = collection_name(parts)
    except SignalRefused:
        return
    known = {".".join(each) for each in {parts, *others}}
    if name.incremental is not None:
        [found] = expanded(name.incremental, known)
        assert parse_parts(found) == parts
        assert python_pattern(name.incremental_filter).fullmatch(found)
        # Else the connector could not read its own offsets.
        kept = parse_parts(name.identifier)
        assert kept is not None
        assert (kept == parts) or not name.is_kept
    doubled = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
    targets = (".".join(parts), doubled)
    assert any(python_pattern(name.blocking).fullmatch(target) for target in targets)
    if name.blocking_filter is not None:
        re.compile(name.blocking_filter)
        assert parse_parts(name.blocking_filter) == parts


@given(parts=PARTS)
def test_a_table_that_the_connector_does_not_know_yet_is_parsed_from_the_text(parts):
    try:
        name = collection_name(parts)
    except SignalRefused:
        return
    if name.incremental is not None and not name.incremental.startswith("(?-i)"):
        assert parse_parts(name.incremental) == parts
