"""What differs between two schema versions of a table, and what that means for stored values.

In: columns and key before and after. Out: the kinds of change in words, and which of them silver
cannot follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from lakehouse.plan.schema import EVOLVED, diff_columns, fits, keeps
from lakehouse.plan.types import Column

# The columns, and the fields of the event key, sorted.
Shape: TypeAlias = tuple[tuple[Column, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two versions.

    Attributes:
        details: Kind of change → one of that kind, in words.
        blocking: Those that would change the meaning of stored values.
        unfit: Those of them after which no new value can stand beside the stored ones.
    """

    details: Mapping[str, str]
    blocking: frozenset[str] = frozenset()
    unfit: frozenset[str] = frozenset()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Sorted."""
        return tuple(sorted(self.details))

    def listed(self, kinds: Iterable[str]) -> str:
        """Some of the kinds, for a person."""
        return ", ".join(f"{kind} ({self.details[kind]})" for kind in sorted(kinds))


NEW_TABLE = Changes({"create_table": "a new table"})


def compare(before: Shape, after: Shape) -> Changes:
    """What differs from one version to the next."""
    old = {column.name: column for column in before[0]}
    new = {column.name: column for column in after[0]}
    details: dict[str, str] = {}
    blocking: set[str] = set()
    unfit: set[str] = set()
    for change in diff_columns(before[0], after[0]):
        details.setdefault(change.kind, f"{change.column} {change.detail}".strip())
        if change.kind not in EVOLVED and not _same_values(change.column, old, new):
            blocking.add(change.kind)
            if not _fits_exactly(change.column, old, new):
                unfit.add(change.kind)
    if after[1] and before[1] and after[1] != before[1]:
        details["primary_key"] = f"{', '.join(before[1])} → {', '.join(after[1])}"
        blocking.add("primary_key")
        unfit.add("primary_key")
    return Changes(details, frozenset(blocking), frozenset(unfit))


def _same_values(name: str, old: Mapping[str, Column], new: Mapping[str, Column]) -> bool:
    """Whether a stored value means the same under both: same type and same unit."""
    if name not in old or name not in new:
        return False
    before, after = old[name], new[name]
    return (before.type.spark, before.doc) == (after.type.spark, after.doc)


def _fits_exactly(name: str, old: Mapping[str, Column], new: Mapping[str, Column]) -> bool:
    """Whether a value of the new type may stand in the old column: another type, no other unit."""
    before, after = old.get(name), new.get(name)
    if before is None or after is None or before.doc != after.doc:
        return False
    was, wanted = before.type.spark, after.type.spark
    return was != wanted and (fits(wanted, was) or keeps(was, wanted))
