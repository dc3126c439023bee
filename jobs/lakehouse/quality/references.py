"""References from one silver table to another, where the source declares a foreign key.

In: the foreign keys of tables, and a staged cut. Out: the references that can be judged: both
tables stand at the end of the cut, and no mask hides what they share.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lakehouse.config import SourceConfig
from lakehouse.names import RETIRED, TableIdentity
from lakehouse.plan.foreign_keys import ForeignKey
from lakehouse.plan.handover import StagedCut
from lakehouse.plan.incarnations import Parts
from lakehouse.plan.masks import masks_of
from lakehouse.quality.staged import Reference, Target
from lakehouse.spark.tables import full_name


@dataclass(frozen=True, slots=True)
class Referenced:
    """A table that others may refer to.

    Attributes:
        relation: Its rows in the staged cut, in Spark SQL.
        rows: How many it has; None where the batch does not change it.
        key: What identifies one, where it is known.
    """

    identity: TableIdentity
    silver: str
    relation: str
    rows: int | None = None
    key: tuple[str, ...] = ()


def with_references(
    source: SourceConfig,
    cut: StagedCut,
    targets: Sequence[Target],
    keys: Mapping[Parts, Sequence[ForeignKey]],
    rows_of: Callable[[str], int | None],
) -> tuple[Target, ...]:
    """The tables with their references that can be judged.

    Without whole transactions a row may come before what it refers to; nothing is judged then.

    Args:
        source: The source; values of masked columns are not compared.
        cut: The staged cut.
        targets: Its changed tables.
        keys: Foreign keys by the parts of a table's name.
        rows_of: How many rows the `main` of a silver table has; None where there is none.
    """
    if not keys or not cut.transactions:
        return tuple(targets)
    tables = _referenced(cut, targets)
    return tuple(
        replace(target, references=tuple(_references(source, target, mine, tables, rows_of)))
        for target in targets
        for mine in [keys.get(TableIdentity.of(target.table.identity).parts(source.connector), ())]
    )


def _referenced(cut: StagedCut, targets: Sequence[Target]) -> list[Referenced]:
    """The tables of a staged cut that stand at its end; those behind it lack rows."""
    changed = {target.silver: target for target in targets}
    moved = {name for pair in cut.moves for name in pair}
    found: list[Referenced] = []
    for silver, members in cut.identities.items():
        identity, staged = TableIdentity.of(members), changed.get(silver)
        if silver in moved or silver in cut.excluded or RETIRED.search(silver):
            continue
        if staged is None:
            found.append(Referenced(identity, silver, full_name(silver)))
        else:
            table = staged.table
            found.append(Referenced(identity, silver, staged.relation, table.rows, table.key))
    return found


def _references(
    source: SourceConfig,
    target: Target,
    keys: Sequence[ForeignKey],
    tables: Sequence[Referenced],
    rows_of: Callable[[str], int | None],
) -> Iterator[Reference]:
    identity = TableIdentity.of(target.table.identity)
    masked = masks_of(source.table_options(identity))
    for key in keys:
        parent = _parent(key, identity, tables, source.connector)
        if parent is None:
            continue
        columns = key.referenced or parent.key
        hidden = masks_of(source.table_options(parent.identity))
        rows = rows_of(parent.silver) if parent.rows is None else parent.rows
        is_masked = _any_in(key.columns, masked) or _any_in(columns, hidden)
        if rows is not None and len(columns) == len(key.columns) and not is_masked:
            yield Reference(key.columns, parent.silver, parent.relation, columns, rows)


def _parent(
    key: ForeignKey, of: TableIdentity, tables: Iterable[Referenced], connector: str
) -> Referenced | None:
    """The one table that a key refers to; None where there is none, or more than one."""
    mine: Parts = of.parts(connector)
    named = [t for t in tables if key.refers_to(t.identity.parts(connector), mine)]
    return named[0] if len(named) == 1 else None


def _any_in(names: Sequence[str], masked: Container[str]) -> bool:
    return any(name.lower() in masked for name in names)
