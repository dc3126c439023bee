"""Schema evolution: what silver must do so that a table's schema versions all fit.

In: the columns that silver has and the versions that data events carry, oldest first. Out: columns
to add and to widen, or the reason to hold the table. Iceberg's legal promotions are in its
specification (https://iceberg.apache.org/spec/#schema-evolution).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from lakehouse.config import ChangeKind, SchemaMode
from lakehouse.plan.schemas.declared_types import DECLARED, meaning
from lakehouse.plan.schemas.types import Column, Kind, ValueType

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_PROMOTIONS = {("int", "bigint"), ("float", "double")}
# Types whose values can be given back as they were, if they fit: numbers and text, text and time.
_CASTS = re.compile(r"tinyint|smallint|int|bigint|float|double|decimal\(.*\)|boolean|string")
_TEXTS = re.compile(r"date|timestamp|timestamp_ntz|string")
# Where no change of a type holds a table: what does not fit the column exactly is quarantined.
TOLERANT: frozenset[SchemaMode] = frozenset(("try_evolve", "lenient", "ignore"))
# Where a column of silver is renamed as its source's is.
RENAMING: frozenset[SchemaMode] = frozenset(("evolve", "try_evolve", "fail"))
# Changes that silver can follow without touching a stored value.
EVOLVED: frozenset[ChangeKind] = frozenset(
    (
        "add_column",
        "drop_column",
        "rename_column",
        "widen_type",
        "nullability",
        "default",
        "reorder_columns",
        "enum_values",
    )
)


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two versions of a table's schema."""

    kind: ChangeKind
    column: str
    detail: str


@dataclass(frozen=True, slots=True)
class SchemaPlan:
    """What silver does for a batch.

    Attributes:
        add: Columns to add, in the order in which they appeared.
        widen: Column name and the new Spark type.
        hold: Why the table cannot follow; empty when it can.
    """

    add: tuple[Column, ...] = ()
    widen: tuple[tuple[str, str], ...] = ()
    hold: str = ""


def diff_columns(before: Sequence[Column], after: Sequence[Column]) -> tuple[Change, ...]:
    """The changes from one version of a schema to the next, in the new order of columns."""
    old = {column.name: column for column in before}
    new = {column.name: column for column in after}
    changes = [
        Change("add_column", name, column.type.spark)
        for name, column in new.items()
        if name not in old
    ]
    changes += [Change("drop_column", name, "") for name in old if name not in new]
    for name in (name for name in new if name in old):
        changes += _diff_column(old[name], new[name])
    kept_old = [name for name in old if name in new]
    kept_new = [name for name in new if name in old]
    if kept_old != kept_new:
        changes.append(Change("reorder_columns", "", ", ".join(kept_new)))
    return tuple(changes)


def _diff_column(old: Column, new: Column) -> list[Change]:
    changes: list[Change] = []
    if old.type.spark != new.type.spark:
        # A number that gets a unit, or another one, is not the same number in a wider type.
        kind = type_change(old.type, new.type) if meaning(old) == meaning(new) else "change_type"
        changes.append(Change(kind, new.name, f"{old.type.spark} → {new.type.spark}"))
    elif old.semantic != new.semantic:
        changes.append(Change("change_type", new.name, f"{old.semantic} → {new.semantic}"))
    if old.optional != new.optional:
        changes.append(Change("nullability", new.name, "null" if new.optional else "not null"))
    if old.default != new.default:
        changes.append(Change("default", new.name, f"{old.default} → {new.default}"))
    # Where one side has none it is unknown, or no enum: that is a change of type.
    if old.allowed and new.allowed and old.allowed != new.allowed:
        changes.append(Change("enum_values", new.name, f"{old.allowed} → {new.allowed}"))
    return changes


def type_change(old: ValueType, new: ValueType) -> ChangeKind:
    """Whether the new type holds every old value, the other way round, or neither."""
    if fits(old.spark, new.spark):
        return "widen_type"
    return "narrow_type" if fits(new.spark, old.spark) else "change_type"


def fits(narrow: str, wide: str) -> bool:
    """Whether Iceberg promotes the first Spark type to the second, or they are the same."""
    if narrow == wide or (narrow, wide) in _PROMOTIONS:
        return True
    small, large = _DECIMAL.fullmatch(narrow), _DECIMAL.fullmatch(wide)
    if not small or not large:
        return False
    return int(small[1]) <= int(large[1]) and small[2] == large[2]


def keeps(stored: str, wanted: str) -> bool:
    """Whether values of another type can stand in a column if they fit its type exactly."""
    return any(types.fullmatch(stored) and types.fullmatch(wanted) for types in (_CASTS, _TEXTS))


def as_stored(column: Column, stored: str) -> Column:
    """The column with a type whose values fit the Spark type that silver has stored for it."""
    if fits(column.type.spark, stored):
        return column
    return replace(column, type=ValueType(Kind.KEPT, stored, element=column.type))


def plan_schema(
    stored: Mapping[str, str],
    versions: Sequence[Sequence[Column]],
    *,
    keeps_types: bool = False,
    keeps_columns: bool = False,
) -> SchemaPlan:
    """What silver must do so that every version's rows can be stored.

    Args:
        stored: Silver's column names and Spark types; empty for a table that is to be created.
        versions: The columns of each version, in the order in which they came.
        keeps_types: Whether a column stays as it is where no promotion covers its new type.
        keeps_columns: Whether a table that is there gets no column and no wider type.
    """
    is_fixed = keeps_columns and bool(stored)
    types = {name.lower(): spark for name, spark in stored.items()}
    add: dict[str, Column] = {}
    widen: dict[str, tuple[str, str]] = {}
    for columns in versions:
        if twins := _case_twins(columns):
            return SchemaPlan(hold=f"columns {twins} differ only by case, which silver cannot")
        for column in columns:
            key, wanted = column.name.lower(), column.type.spark
            if key not in types:
                if not is_fixed:
                    add[key], types[key] = column, wanted
            elif fits(wanted, types[key]):
                continue
            elif fits(types[key], wanted) and not is_fixed:
                types[key] = wanted
                if key in add:
                    add[key] = column
                else:
                    widen[key] = (column.name, wanted)
            elif not (keeps_types and keeps(types[key], wanted)):
                return SchemaPlan(hold=_misfit(column, types[key]))
    return SchemaPlan(tuple(add.values()), tuple(widen.values()))


def _misfit(column: Column, stored: str) -> str:
    if column.doc.startswith(DECLARED):
        return (
            f"column {column.name!r} is declared as what silver has as {column.type.spark}, but "
            f"the table has it as {stored} already, and no promotion covers that: take the "
            "declaration back (a type counts from the table's first run on)"
        )
    return (
        f"column {column.name!r} changed from {stored} to {column.type.spark}, "
        "which no promotion covers"
    )


def _case_twins(columns: Sequence[Column]) -> list[str]:
    seen: dict[str, str] = {}
    twins: list[str] = []
    for column in columns:
        first = seen.setdefault(column.name.lower(), column.name)
        if first != column.name:
            twins += [first, column.name]
    return twins


def older_defaults(
    stored: Collection[str], versions: Sequence[Sequence[Column]]
) -> dict[str, Column]:
    """Columns that were added with a constant default, by lower-case name.

    Rows older than the change get the default; the source sends no event for them.

    Args:
        stored: Names of silver's columns; empty for a table that is to be created.
        versions: The columns of each version, in the order in which they came.
    """
    first = [column.name for column in versions[0]] if versions else []
    known = {name.lower() for name in (stored or first)}
    return {
        column.name.lower(): column
        for columns in reversed(versions)
        for column in columns
        if column.name.lower() not in known and column.default is not None
    }
