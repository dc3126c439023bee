"""Iceberg tables as their files are → what of them is broken, and what mends it.

In: of each table what cannot be read. Out: one `Repair` each, and findings for a person. A commit
is taken back only where its own files are gone: nothing whole is lost with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from lakehouse.plan.doctor.findings import Finding, Level, Promise

_SHOWN = 3


class Role(StrEnum):
    """What a table is for, which decides what can bring it back."""

    BRONZE = "bronze"
    SILVER = "silver"
    CONTROL = "control"


class Repair(StrEnum):
    """What mends a table."""

    POINT_BACK = "the catalog points to the metadata before"
    TAKE_BACK = "commits without their files are taken back"
    REBUILD = "made again from bronze"
    NONE = "nothing here can"


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What of a table cannot be read.

    Attributes:
        name: Namespace and name.
        error: Why its metadata cannot be read; empty where it can.
        location: Its metadata file; `previous` the one before, where the catalog knows it and it
            can be read.
        missing: Files of `main` that are not there, or shorter than they were written.
        broken: The newest snapshots of `main` whose own files are missing, newest first.
        whole: The snapshot before those; None where there is none.
        ahead: The newest cut's snapshot, where `main` is of a cut before it; else None.
        strayed: The newest cut's snapshot, where another program wrote rows to `main` behind it;
            else None.
        title: Of a silver table, its source table as the TOML file names it.
    """

    name: str
    role: Role
    error: str = ""
    location: str = ""
    previous: str = ""
    missing: tuple[str, ...] = ()
    broken: tuple[int, ...] = ()
    whole: int | None = None
    ahead: int | None = None
    strayed: int | None = None
    title: str = ""


def repair_of(facts: TableFacts) -> Repair | None:
    """What mends the table; None where nothing is broken."""
    if facts.error:
        return Repair.POINT_BACK if facts.previous else Repair.NONE
    if not facts.missing and facts.ahead is None and facts.strayed is None:
        return None
    if facts.role is Role.SILVER:
        return Repair.REBUILD if facts.title else Repair.NONE
    return Repair.TAKE_BACK if facts.broken and facts.whole is not None else Repair.NONE


def judge_tables(tables: Iterable[TableFacts], source: str) -> tuple[Finding, ...]:
    """One finding for each broken table."""
    return tuple(
        _finding(facts, repair, source)
        for facts in tables
        if (repair := repair_of(facts)) is not None
    )


def _finding(facts: TableFacts, repair: Repair, source: str) -> Finding:
    if facts.error:
        what, value = f"metadata {facts.location}", facts.error
    elif facts.ahead is not None:
        what, value = "main", f"behind snapshot {facts.ahead} of the newest cut"
    elif facts.strayed is not None:
        what, value = "main", f"another program's rows upon snapshot {facts.strayed} of the cut"
    else:
        what, value = "a file of main", _named(facts.missing)
    return Finding(
        Level.BREAKS,
        f"table {facts.name}",
        what,
        value,
        "every file as it was written, and the newest cut",
        Promise.NO_LOSS if facts.role is Role.BRONZE else Promise.EQUALS,
        _consequence(facts),
        _next_step(facts, repair, source),
    )


def _consequence(facts: TableFacts) -> str:
    if facts.ahead is not None:
        return "The next run would build on less than is published."
    if facts.strayed is not None:
        return "Who reads it sees rows that the source does not have, or misses some that it has."
    return "Runs, and who reads it, fail."


def _named(files: tuple[str, ...]) -> str:
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return f"not there or cut off: {', '.join(files[:_SHOWN])}{more}"


def _next_step(facts: TableFacts, repair: Repair, source: str) -> str:
    doctor = f"`lakehouse doctor --source {source} --repair`"
    if repair is Repair.POINT_BACK:
        return f"{doctor} points the catalog to {facts.previous}; the next run goes on from there"
    if repair is Repair.TAKE_BACK:
        count = len(facts.broken)
        return f"{doctor} takes {count} commits back, whose files are gone; what they had is landed"
    if repair is Repair.REBUILD:
        return f"{doctor} makes it again from bronze, as `lakehouse rebuild --table {facts.title}`"
    return f"bring the named file back from a backup, then {doctor}"
