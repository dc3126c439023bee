"""Silver names of tables that the source dropped, created again or renamed.

In: the tables with events, the names that silver's tables have. Out: the names that they will have.
The newest incarnation has the table's name, older ones keep their rows under
`<name>__retired_<n>` (`design.md` §4). A table of silver is renamed in `publish` alone; until then
a new incarnation is staged beside the old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lakehouse.names import TableIdentity, silver_names
from lakehouse.plan.schemas.incarnations import Incarnations, Parts


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
        published: The names that silver's tables have now, by the identity at the newest cut.
        incarnations: What the source's statements told.
    """
    there = {incarnations.today(table, connector): name for table, name in published.items()}
    known = sorted({*tables, *there})
    newest: dict[Parts, int] = {}
    for table in known:
        parts = table.parts(connector)
        newest[parts] = max(newest.get(parts, 0), table.incarnation, incarnations.created(parts))
    own = {
        replace(table, incarnation=0): name
        for table, name in published.items()
        if incarnations.today(table, connector) == table and not _is_retired(table, name)
    }
    bases = silver_names(
        [replace(table, incarnation=0) for table in known],
        connector,
        configured=configured,
        published=own,
    )
    final = {
        t: _final(t, bases[replace(t, incarnation=0)], newest[t.parts(connector)]) for t in known
    }
    taken = {*there.values()}
    staged = {
        table: there.get(table) or _staged(table, name, is_taken=name in taken)
        for table, name in final.items()
    }
    moves = {staged[table]: final[table] for table in known if staged[table] != final[table]}
    return TableNames(final, staged, _in_order(moves))


def _final(table: TableIdentity, base: str, newest: int) -> str:
    if table.incarnation == newest:
        return base
    return f"{base}{_retired(table)}"


def _staged(table: TableIdentity, name: str, *, is_taken: bool) -> str:
    """A table's files stay where it was made, so that no two are made under one name."""
    return f"{name}__incoming_{table.incarnation}" if is_taken or table.incarnation else name


def _in_order(moves: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Each move when its name is free; the source's statements never close a circle."""
    left, ordered = dict(moves), []
    while left:
        free = [was for was, name in left.items() if name not in left] or list(left)
        ordered += [(was, left.pop(was)) for was in sorted(free)]
    return tuple(ordered)


def _retired(table: TableIdentity) -> str:
    return f"__retired_{table.incarnation + 1}"


def _is_retired(table: TableIdentity, name: str) -> bool:
    return name.endswith(_retired(table))
