"""Incarnations: a table that is dropped and created again is another table of the same name.

In: where the source dropped and created its tables, which tables silver has. Out: the silver name
of each incarnation. The newest one has the table's name, older ones keep their rows under
`<name>__retired_<n>` (`design.md` §4). A table of silver is renamed in `publish` alone; until then
a new incarnation is staged beside the old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from lakehouse.names import TableIdentity, silver_names

Parts = tuple[str, ...]
Positions = Mapping[Parts, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Incarnations:
    """Where the source's statements ended and began tables, by the parts of a table's name.

    Attributes:
        drops: Positions of DROP statements, ascending; snapshots repeat some, which do not count.
        creates: Positions of CREATE statements, ascending.
    """

    drops: Positions = field(default_factory=dict)
    creates: Positions = field(default_factory=dict)

    def created(self, parts: Parts) -> int:
        """The incarnation that the newest CREATE statement began."""
        newest = max(self.creates.get(parts, ()), default="")
        return sum(position < newest for position in self.drops.get(parts, ()))

    def holds_at(self, parts: Parts, incarnation: int, position: str) -> bool:
        """Whether an incarnation of a table lived at a position."""
        drops = self.drops.get(parts, ())
        return sum(drop < position for drop in drops) == incarnation


@dataclass(frozen=True, slots=True)
class TableNames:
    """The silver names of a source's tables, without the namespace.

    Attributes:
        final: As they are once the cut is published.
        staged: As they are until then.
        moves: What `publish` renames, old and new name, in order.
    """

    final: Mapping[TableIdentity, str]
    staged: Mapping[TableIdentity, str]
    moves: tuple[tuple[str, str], ...]


def table_names(
    tables: Iterable[TableIdentity],
    connector: str,
    *,
    configured: Mapping[TableIdentity, str],
    published: Mapping[TableIdentity, str],
    incarnations: Incarnations,
) -> TableNames:
    """Name every incarnation of every table.

    Args:
        tables: Those with events.
        connector: The connector's name.
        configured: Names from the TOML file.
        published: The names that silver's tables have now.
        incarnations: What the source's statements told.
    """
    known = sorted({*tables, *published})
    newest: dict[Parts, int] = {}
    for table in known:
        parts = table.parts(connector)
        told = incarnations.created(parts) if parts in incarnations.drops else 0
        newest[parts] = max(newest.get(parts, 0), table.incarnation, told)
    own = {replace(t, incarnation=0): n for t, n in published.items() if not _is_retired(t, n)}
    bases = silver_names(
        [replace(table, incarnation=0) for table in known],
        connector,
        configured=configured,
        published=own,
    )
    final = {
        t: _final(t, bases[replace(t, incarnation=0)], newest[t.parts(connector)]) for t in known
    }
    used = {table.parts(connector) for table in published}
    staged = {
        table: published.get(table) or _staged(table, name, follows=table.parts(connector) in used)
        for table, name in final.items()
    }
    ordered = sorted(known, key=lambda table: table not in published)
    moves = tuple((staged[t], final[t]) for t in ordered if staged[t] != final[t])
    return TableNames(final, staged, moves)


def _final(table: TableIdentity, base: str, newest: int) -> str:
    if table.incarnation == newest:
        return base
    return f"{base}{_retired(table)}"


def _staged(table: TableIdentity, name: str, *, follows: bool) -> str:
    """A table's files stay where it was made, so that no two are made under one name."""
    return f"{name}__incoming_{table.incarnation}" if follows else name


def _retired(table: TableIdentity) -> str:
    return f"__retired_{table.incarnation + 1}"


def _is_retired(table: TableIdentity, name: str) -> bool:
    return name.endswith(_retired(table))
