"""References from one silver table to another, where the source declares a foreign key.

In: the foreign keys of tables, and where a cut has its tables. Out: the references that can be
judged, where both tables stand at the end of the cut and no mask hides what they share; of each
other one, why it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS, InlineReference
from lakehouse.names import RETIRED, TableIdentity
from lakehouse.plan.batches.masks import masks_of
from lakehouse.plan.cuts.handover import StagedCut
from lakehouse.plan.cuts.published import excluded_of, identities_of
from lakehouse.plan.records import CutRow
from lakehouse.plan.schemas.foreign_keys import ForeignKey
from lakehouse.plan.schemas.incarnations import Parts
from lakehouse.quality.measuring.staged import Reference, Target
from lakehouse.spark.tables import snapshot_name


@dataclass(frozen=True, slots=True)
class Standing:
    """The tables of a cut that stand at its end; those behind it lack rows.

    Attributes:
        tables: Silver table → its source table.
        snapshots: Silver table → its snapshot in the cut; those behind it may be among them.
        behind: The tables that the cut left behind.
    """

    tables: Mapping[str, TableIdentity]
    snapshots: Mapping[str, int]
    behind: frozenset[str]


@dataclass(frozen=True, slots=True)
class Referenced:
    """A table that others may refer to.

    Attributes:
        snapshot: Its snapshot in the cut.
        rows: How many rows it has; None where it is none of the judged ones.
        key: What identifies one, where it is known.
    """

    identity: TableIdentity
    silver: str
    snapshot: int
    rows: int | None = None
    key: tuple[str, ...] = ()


def standing_in(cut: StagedCut, base: CutRow | None) -> Standing:
    """Where the tables of a staged cut stand; one that gets another name has two until then.

    Args:
        cut: The staged cut.
        base: The published cut that it follows; None for the first one.
    """
    staged = {t.silver: t.snapshot for t in cut.tables if t.snapshot is not None}
    moved = {name for pair in cut.moves for name in pair}
    known = _standing(cut.identities, {*moved, *cut.excluded})
    before = base.tables if base else {}
    return Standing(known, {**before, **staged}, frozenset(cut.excluded))


def standing_in_published(cut: CutRow) -> Standing:
    """Where the tables of a published cut stand."""
    behind = frozenset(excluded_of(cut))
    return Standing(_standing(identities_of(cut), behind), cut.tables, behind)


def with_references(
    source: SourceConfig,
    standing: Standing,
    targets: Sequence[Target],
    keys: Mapping[Parts, Sequence[ForeignKey]],
    rows_of: Callable[[str, int], int | None],
) -> tuple[Target, ...]:
    """The tables with their references that can be judged.

    Without whole transactions a row may come before what it refers to: nothing can be judged then.

    Args:
        source: The source; values of masked columns are not compared.
        standing: Where the cut has its tables.
        targets: Those of them that are judged.
        keys: Foreign keys by the parts of a table's name.
        rows_of: How many rows a silver table has at a snapshot; None where there is none.
    """
    tables = _referenced(standing, targets)
    return tuple(
        replace(target, references=references, not_judged=(*target.not_judged, *reasons))
        for target in targets
        for mine in [keys.get(TableIdentity.of(target.table.identity).parts(source.connector), ())]
        for there in [() if target.silver in standing.behind else tables]
        for found in [[_reference(source, target, key, there, rows_of) for key in mine]]
        for references in [tuple(each for each in found if isinstance(each, Reference))]
        for reasons in [tuple(each for each in found if isinstance(each, str))]
    )


def with_reasons(
    source: SourceConfig, targets: Iterable[Target], reasons: Mapping[Parts, Sequence[str]]
) -> tuple[Target, ...]:
    """The tables with why something of them is not judged.

    Args:
        source: The source.
        targets: The tables.
        reasons: By the parts of a table's name.
    """
    return tuple(
        replace(target, not_judged=(*target.not_judged, *reasons.get(parts, ())))
        for target in targets
        for parts in [TableIdentity.of(target.table.identity).parts(source.connector)]
    )


def _standing(
    identities: Mapping[str, tuple[str | int | None, ...]], behind: Container[str]
) -> dict[str, TableIdentity]:
    return {
        silver: TableIdentity.of(members)
        for silver, members in identities.items()
        if silver not in behind and not RETIRED.search(silver)
    }


def _referenced(standing: Standing, targets: Sequence[Target]) -> list[Referenced]:
    judged = {target.silver: target.table for target in targets}
    found: list[Referenced] = []
    for silver, identity in standing.tables.items():
        table, snapshot = judged.get(silver), standing.snapshots.get(silver)
        if snapshot is not None:
            rows, key = (table.rows, table.key) if table else (None, ())
            found.append(Referenced(identity, silver, snapshot, rows, key))
    return found


def _reference(
    source: SourceConfig,
    target: Target,
    key: ForeignKey,
    tables: Sequence[Referenced],
    rows_of: Callable[[str, int], int | None],
) -> Reference | str:
    """The reference that a foreign key is; a sentence where it cannot be judged."""
    identity, rule = TableIdentity.of(target.table.identity), _inline_rule(source, key)
    said = f"foreign key {', '.join(key.columns)} → {key.table}: "
    if rule is InlineReference.IGNORED:
        return said + "not every version of the source heeds REFERENCES behind a column's type"
    parent = _parent(key, identity, tables, source.connector)
    if parent is None:
        return said + "one of both tables does not stand at the end of the cut"
    columns = key.referenced or (key.columns if rule is InlineReference.TO_NAMESAKE else parent.key)
    masked = masks_of(source.table_options(identity))
    hidden = masks_of(source.table_options(parent.identity))
    if _any_in(key.columns, masked) or _any_in(columns, hidden):
        return said + "a mask hides what the tables share"
    at = parent.snapshot
    rows = rows_of(parent.silver, at) if parent.rows is None else parent.rows
    if rows is None or len(columns) != len(key.columns):
        return said + "the key of the other table is not known in this batch"
    return Reference(key.columns, parent.silver, snapshot_name(parent.silver, at), columns, rows)


def _inline_rule(source: SourceConfig, key: ForeignKey) -> InlineReference:
    inline = CONNECTORS[source.connector].inline_references
    return inline if key.is_inline else InlineReference.TO_KEY


def _parent(
    key: ForeignKey, of: TableIdentity, tables: Iterable[Referenced], connector: str
) -> Referenced | None:
    """The one table that a key refers to; None where there is none, or more than one."""
    mine: Parts = of.parts(connector)
    named = [t for t in tables if key.refers_to(t.identity.parts(connector), mine)]
    return named[0] if len(named) == 1 else None


def _any_in(names: Sequence[str], masked: Container[str]) -> bool:
    return any(name.lower() in masked for name in names)
