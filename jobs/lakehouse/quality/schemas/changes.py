"""What differs between two schema versions of a table, and what that means for stored values.

In: columns and key before and after, and what statements told between them. Out: the kinds of
change in words, which of them silver cannot follow, and which columns may have been renamed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from lakehouse.plan.schemas.declared_types import meaning
from lakehouse.plan.schemas.renames import Renames
from lakehouse.plan.schemas.schema import EVOLVED, diff_columns, fits, keeps
from lakehouse.plan.schemas.types import Column
from lakehouse.quality.schemas.statements import Told

# The columns, and the fields of the event key, sorted.
Shape: TypeAlias = tuple[tuple[Column, ...], tuple[str, ...]]
# What data events do not show: a statement alone tells it.
_TOLD_ALONE = (
    "drop_table",
    "rename_table",
    "swap_table",
    "rename_column",
    "character_set",
    "enum_values",
    "comment",
    "constraint",
)
BY_STATEMENT = "by a statement"


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two versions.

    Attributes:
        details: Kind of change → one of that kind, in words.
        blocking: Those that would change the meaning of stored values.
        unfit: Those of them after which no new value can stand beside the stored ones.
        pairs: Columns that went and came and may be the same ones, old and new name.
    """

    details: Mapping[str, str]
    blocking: frozenset[str] = frozenset()
    unfit: frozenset[str] = frozenset()
    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Sorted."""
        return tuple(sorted(self.details))

    def listed(self, kinds: Iterable[str]) -> str:
        """Some of the kinds, for a person."""
        return ", ".join(f"{kind} ({self.details[kind]})" for kind in sorted(kinds))


NEW_TABLE = Changes({"create_table": "a new table"})
_NEW_INCARNATION = Changes(
    {"create_table": "a new table", "drop_table": "the one that had its name before"}
)


def compare(before: Shape, after: Shape, told: Told | None = None) -> Changes:
    """What differs from one version to the next.

    Args:
        before: The version that silver has followed last.
        after: The next one.
        told: What statements told between them.
    """
    told = told or Told()
    before = under_new_names(before, told)
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
    details = _with_told(details, told)
    return Changes(details, frozenset(blocking), frozenset(unfit), _pairs(before, after))


def first_of(*, is_first: bool, told: Told) -> Changes:
    """What the first version of a table is, which may have the name that another one had."""
    known = NEW_TABLE if is_first else _NEW_INCARNATION
    return known if is_first else Changes(_with_told(known.details, told))


def _with_told(details: Mapping[str, str], told: Told) -> dict[str, str]:
    renamed = [f"{each.was} → {each.name}" for each in told.renames if not each.comes]
    found = dict(details)
    for kind in sorted({kind for each in told.statements for kind in each.kinds}):
        if kind in _TOLD_ALONE:
            told_so = renamed[:1] if kind == "rename_column" else []
            found.setdefault(kind, next(iter(told_so), BY_STATEMENT))
    return found


def under_new_names(shape: Shape, told: Told) -> Shape:
    """A version as the renames of statements leave it."""
    names = {c.name: c.name for c in shape[0]}
    today = Renames(told.renames).stored_names(names, "", ())
    columns = tuple(replace(column, name=today[column.name]) for column in shape[0])
    return columns, tuple(sorted(today.get(name, name) for name in shape[1]))


def _pairs(before: Shape, after: Shape) -> tuple[tuple[str, str], ...]:
    """Columns of one type that went and came; at the same place, or the only ones of the type."""
    old, new = {c.name for c in before[0]}, {c.name for c in after[0]}
    gone = [(i, c) for i, c in enumerate(before[0]) if c.name not in new]
    came = [(i, c) for i, c in enumerate(after[0]) if c.name not in old]
    found = []
    for place, column in gone:
        like = [(i, c) for i, c in came if _is_like(column, c)]
        others = [c for _, c in gone if _is_like(column, c)]
        at = [c for i, c in like if i == place]
        if at or (len(like) == 1 and len(others) == 1):
            found.append((column.name, (at or [like[0][1]])[0].name))
    return tuple(found)


def _is_like(old: Column, new: Column) -> bool:
    return (old.type.spark, old.semantic, old.doc) == (new.type.spark, new.semantic, new.doc)


def _same_values(name: str, old: Mapping[str, Column], new: Mapping[str, Column]) -> bool:
    """Whether a stored value means the same under both: same type and same unit."""
    if name not in old or name not in new:
        return False
    before, after = old[name], new[name]
    return (before.type.spark, meaning(before)) == (after.type.spark, meaning(after))


def _fits_exactly(name: str, old: Mapping[str, Column], new: Mapping[str, Column]) -> bool:
    """Whether a value of the new type may stand in the old column: another type, no other unit."""
    before, after = old.get(name), new.get(name)
    if before is None or after is None or meaning(before) != meaning(after):
        return False
    was, wanted = before.type.spark, after.type.spark
    return was != wanted and (fits(wanted, was) or keeps(was, wanted))
