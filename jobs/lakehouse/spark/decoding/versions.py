"""Versions: all schema versions of a table in one pass over its events.

In: the versions of a table's plan. Out: the names under which the columns of all of them are read,
and SQL that asks for the version of an event only where versions differ. A query for each version
would make a plan that grows with versions times columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from lakehouse.plan.batches.tables import TablePlan, Version
from lakehouse.plan.schemas.types import Column


@dataclass(frozen=True, slots=True)
class Reading:
    """How the events of one schema version are read.

    Attributes:
        plan: The table.
        version: The schema version.
        columns: Its columns by the lower-case names under which silver stores them.
        fields: Column in the events → field of the tokens; the same for all versions.
    """

    plan: TablePlan
    version: Version
    columns: Mapping[str, Column]
    fields: Mapping[str, str]


def readings(plan: TablePlan) -> tuple[Reading, ...]:
    """How the events of each version are read, in the order of the plan's versions."""
    fields = token_fields(plan.versions)
    return tuple(
        Reading(plan, version, {version.stored_name(c.name).lower(): c for c in columns}, fields)
        for version in plan.versions
        for columns in [version.columns]
    )


def token_fields(versions: Sequence[Version]) -> dict[str, str]:
    """Column in the events → field of the tokens, for the columns of all versions.

    Fields of a struct cannot differ by case alone; columns of two versions can.
    """
    fields: dict[str, str] = {}
    taken: set[str] = set()
    for name in (column.name for version in versions for column in version.columns):
        if name in fields:
            continue
        field = name
        while field.lower() in taken:
            field += "'"
        fields[name] = field
        taken.add(field.lower())
    return fields


def in_versions(plan: TablePlan) -> str:
    """Whether an envelope is of one of the plan's versions."""
    return f"fingerprint IN ({_fingerprints(plan)})"


def version_number(plan: TablePlan) -> str:
    """SQL for the number of an event's version, as `by_version` asks for it.

    Versions follow each other, so that those with a column are a range of numbers; of fingerprints
    they would be a list.
    """
    return f"array_position(array({_fingerprints(plan)}), fingerprint) AS version"


def column_by_version(
    of: Callable[[Reading, str], str], versions: Sequence[Reading], name: str
) -> str:
    """What each version has for a column, as one expression.

    Args:
        of: SQL of one version for a column.
        versions: All of the plan, in its order.
        name: The column.
    """
    return by_version([of(reading, name) for reading in versions])


def by_version(texts: Sequence[str]) -> str:
    """One expression for all versions; without a CASE where each version has the same.

    Args:
        texts: SQL for each version, in the order of the plan's versions.
    """
    numbers: dict[str, list[int]] = {}
    for number, text in enumerate(texts, 1):
        numbers.setdefault(text, []).append(number)
    ranges = {text: _ranges(found) for text, found in numbers.items()}
    *others, most = sorted(ranges, key=lambda text: len(ranges[text]))
    if not others:
        return most
    cases = " ".join(f"WHEN {' OR '.join(ranges[text])} THEN {text}" for text in others)
    return f"CASE {cases} ELSE {most} END"


def _ranges(numbers: Sequence[int]) -> list[str]:
    """Conditions that hold for these versions, one for each row of neighbours."""
    rows = groupby(enumerate(numbers), key=lambda place: place[1] - place[0])
    ranges = [[number for _, number in row] for _, row in rows]
    return [
        f"version BETWEEN {found[0]} AND {found[-1]}" if len(found) > 1 else f"version = {found[0]}"
        for found in ranges
    ]


def _fingerprints(plan: TablePlan) -> str:
    return ", ".join(str(version.fingerprint) for version in plan.versions)
