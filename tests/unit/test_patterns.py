"""Which regular expressions of persons are refused because a value may take them ages."""

from __future__ import annotations

import pytest

from lakehouse.config.contract_options import bad_value
from lakehouse.config.patterns import MOST_CHARACTERS, slowness
from lakehouse.config.rules import read_columns

ENDLESS = {
    "(a+)+$": "(a+)+",
    "^(?:[a-z]+)*$": "(?:[a-z]+)*",
    "x((a*)b)+": "((a*)b)+",
    r"(\w+\.?){2,}": r"(\w+\.?){2,}",
    "(.*,){11}x": "(.*,){11}",
    "(a{2,}){0,40}": "(a{2,}){0,40}",
}
QUICK = [
    r"inventory\.public\..*",
    r"shop\.(orders|items)_[0-9]+",
    r"([0-9]+\.){3}[0-9]+",
    r"(a\+)+",
    "([+*])+",
    r"([]+])*",
    r"(?:ab?)+c*",
    r"\Q(a+)+\E",
    "(a+)(b+)",
    "",
]


@pytest.mark.parametrize("pattern", ENDLESS)
def test_a_repetition_of_what_repeats_is_refused_and_shown(pattern: str) -> None:
    assert (slowness(pattern) or "").startswith(f"{ENDLESS[pattern]!r} repeats what repeats")


@pytest.mark.parametrize("pattern", QUICK)
def test_what_repeats_once_is_not_refused(pattern: str) -> None:
    assert slowness(pattern) is None


def test_a_long_one_is_refused() -> None:
    assert slowness("a" * MOST_CHARACTERS) is None
    assert slowness("a" * 1001) == "it has 1001 characters: expected 1000 at most"


@pytest.mark.parametrize(
    "condition",
    [
        "NOT a RLIKE '^(x+)+$'",
        "a REGEXP r'(x+)+'",
        "regexp_like(a, '(x+)+')",
        "length(regexp_replace(a, '(x+)+', '')) > 1",
        "regexp_extract(a, '(x+)+', 1) = 'x'",
        "regexp_count(a, '(x+)+') > 1",
    ],
)
def test_it_is_refused_in_a_condition_too(condition: str) -> None:
    with pytest.raises(ValueError, match="repeats what repeats by itself"):
        read_columns(condition)


@pytest.mark.parametrize("name", ["uuid", "email", "uri", "hostname", "ipv4", "ipv6"])
def test_the_formats_of_a_contract_are_not_refused(name: str) -> None:
    assert read_columns(bad_value("format", name, "string", "`a`") or "") == ("a",)
