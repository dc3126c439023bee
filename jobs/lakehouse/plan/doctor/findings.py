"""Findings: what is set, what was expected, which promise it breaks, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is."""

    BREAKS = "breaks a promise"
    WARNING = "warning"


class Promise(StrEnum):
    """The promises of the project that the way in can break, as its README numbers them."""

    NO_LOSS = "1, no silent loss"
    EQUALS = "3, silver equals the source"
    NEVER_BACK = "4, never backwards"
    LOSSLESS = "7, no lossy conversion without a record"
    SCHEMA = "8, schema changes are never dropped silently"
    ONE_TABLE = "12, one bad message harms one table at most"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be.

    Attributes:
        subject: Where: `connector shop`, `topic shop.public.orders`, `table public.orders`.
        what: The setting or the state that was looked at.
        value: What it is; a default says so.
        expected: What it should be.
        promise: What cannot be kept with it.
        why: What happens then, in one sentence.
        next_step: What to do, with the setting or the statement.
    """

    level: Level
    subject: str
    what: str
    value: str
    expected: str
    promise: Promise
    why: str
    next_step: str


def exit_code(findings: Iterable[Finding]) -> int:
    """0: nothing found, 1: warnings, 2: a promise is broken."""
    levels = {finding.level for finding in findings}
    if Level.BREAKS in levels:
        return 2
    return 1 if levels else 0


def sentence(finding: Finding) -> str:
    """The finding as lines for a person."""
    return (
        f"{finding.subject}: {finding.what} is {finding.value}: expected {finding.expected}\n"
        f"    {finding.why} ({finding.level}: {finding.promise})\n"
        f"    next: {finding.next_step}"
    )
