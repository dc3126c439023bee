"""Which column of silver a name of the source means, by position: renamed, dropped, used again.

In: what statements told of a table, oldest first. Out: the renames that silver's columns follow. A
dropped column stays in silver, unless the TOML file lets it go; when its name is used again, the
old one becomes `<name>__dropped_<n>` (`design.md` §4).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from lakehouse.plan.records import HOLD, SchemaVersionRow
from lakehouse.plan.schemas.incarnations import Parts
from lakehouse.plan.schemas.renames import Rename, in_turn

Follows: TypeAlias = Callable[[Parts], bool]


def every_table(_: Parts) -> bool:
    """That silver's columns are renamed with the source's, whatever the table."""
    return True


def column_renames(
    rows: Iterable[SchemaVersionRow], connector: str, follows: Follows
) -> dict[Parts, tuple[Rename, ...]]:
    """The parts of a table's name → what becomes of the names of its columns, by position.

    Args:
        rows: Of `quality.schema_versions`, oldest first.
        connector: Of the source.
        follows: Whether silver renames a table's columns with its source; else the old one counts
            as dropped, and the new one as added.
    """
    tables: dict[str, _Table] = {}
    found: dict[Parts, list[Rename]] = {}
    for row in placed(rows):
        if row.previous:
            tables[row.identity] = tables.pop(row.previous, _Table())
        table = tables.setdefault(row.identity, _Table())
        parts = row.source_table.parts(connector)
        found.setdefault(parts, []).extend(table.follow(row, follows=follows(parts)))
    return {parts: _in_order(mine) for parts, mine in found.items() if mine}


def gone_by_statements(
    rows: Iterable[SchemaVersionRow], connector: str
) -> Iterator[tuple[Parts, str, frozenset[str]]]:
    """Each table with the columns that its statements dropped, up to the first one that is held.

    Args:
        rows: Of `quality.schema_versions`, oldest first.
        connector: Of the source.

    Yields:
        The parts of the table's name, the position of its last statement, and the names of the
        columns in lower case, as silver has them behind it.
    """
    tables: dict[str, tuple[SchemaVersionRow, _Table]] = {}
    held: set[str] = set()
    for row in placed(row for row in rows if row.is_from_ddl):
        table = tables.pop(row.previous or row.identity, (row, _Table()))[1]
        tables[row.identity] = (row, table)
        if row.verdict == HOLD or (row.previous or row.identity) in held:
            held.add(row.identity)
        else:
            list(table.follow(row, follows=True))
    for row, table in tables.values():
        yield row.source_table.parts(connector), row.position, table.gone


def turns(rows: Iterable[SchemaVersionRow], connector: str) -> dict[Parts, tuple[str, ...]]:
    """The parts of a table's name → positions behind which its schemas are other versions.

    A schema that comes back has the text that it had: what its columns are in silver, or whether a
    person has to decide about them, is another question there.
    """
    every = [row for row in rows if row.is_from_ddl]
    found = {
        (row.source_table.parts(connector), row.position)
        for row in every
        if row.position and row.verdict == HOLD
    }
    seen: dict[str, list[object]] = {}
    for row in placed(every):
        shapes = seen.pop(row.previous or row.identity, []) if row.columns != "[]" else []
        seen[row.identity] = shapes
        shape = _shape(row)
        comes_back = shape in shapes[:-1] and shape != shapes[-1]
        is_anew = any(column.get("anew") for column in json.loads(row.columns))
        # A row's schema tells neither its key nor that a column is another one of the same name.
        if comes_back or is_anew or {"rename_column", "primary_key"} & set(row.change_kinds):
            found.add((row.source_table.parts(connector), row.position))
        shapes.append(shape)
    positions: dict[Parts, list[str]] = {}
    for parts, position in sorted(found):
        positions.setdefault(parts, []).append(position)
    return {parts: tuple(mine) for parts, mine in positions.items()}


def placed(rows: Iterable[SchemaVersionRow]) -> list[SchemaVersionRow]:
    """What statements did, and what a person said that they did, by position.

    Args:
        rows: Oldest first; the newest of a table and a position counts.
    """
    newest = {
        (row.position, row.identity): row
        for row in rows
        if row.position and (row.is_from_ddl or _is_mapped(row))
    }
    return [row for _, row in sorted(newest.items(), key=lambda item: item[0])]


@dataclass(slots=True)
class _Table:
    """The names of one table's columns as the statements of its life leave them.

    Attributes:
        names: Those that it has, in lower case → as the source writes them.
        kept: The same of those that it has no more and that silver keeps.
        reused: Lower-case name → how often it was used again.
        aside: The names that silver has given columns whose names were used again, in lower case.
        left: The names that renamed columns had, and none has since, in lower case.
    """

    names: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    reused: dict[str, int] = field(default_factory=dict)
    aside: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)

    @property
    def gone(self) -> frozenset[str]:
        """What the source has no more of what silver had of it, in lower case."""
        return frozenset({*self.kept, *self.aside} - self.names.keys())

    def follow(self, row: SchemaVersionRow, *, follows: bool) -> Iterator[Rename]:
        """The renames of one statement."""
        columns: Sequence[Mapping[str, str]] = json.loads(row.columns)
        after = {column["name"].lower(): column["name"] for column in columns}
        pairs = [(c["was"], c["name"]) for c in columns if follows and c.get("was")]
        moved = {was.lower(): name.lower() for was, name in pairs}
        stays = {name for name in self.names if name in after and name not in moved}
        stays -= {*moved.values(), *(c["name"].lower() for c in columns if c.get("anew"))}
        kept = self.kept | {name: text for name, text in self.names.items() if name not in stays}
        kept = {name: text for name, text in kept.items() if name not in moved}
        again = [name for name in after if name not in stays and name in kept]
        put_aside = [(kept[name], self._aside(kept[name])) for name in again]
        self.kept = {name: text for name, text in kept.items() if name not in again}
        # Silver's column has a name that is left until `publish`, as it has one that is used again.
        free = [name for name in after if name not in stays and name in self.left | moved.keys()]
        new = [after[name] for name in dict.fromkeys((*again, *free)) if name not in moved.values()]
        self.left = (self.left | moved.keys()) - after.keys()
        # After a drop the table begins anew; what silver keeps is retired as a whole.
        if not columns:
            self.names, self.kept, self.reused = {}, {}, {}
            self.aside, self.left = set(), set()
            return
        self.names = after
        yield from in_turn(row.position, pairs, put_aside, new)

    def _aside(self, name: str) -> str:
        number = self.reused.get(name.lower(), 0) + 1
        self.reused[name.lower()] = number
        self.aside.add(f"{name}__dropped_{number}".lower())
        return f"{name}__dropped_{number}"


def _is_mapped(row: SchemaVersionRow) -> bool:
    """Whether a person said of a version from data events which column was renamed."""
    has_names = '"was"' in row.columns
    return has_names and any(column.get("was") for column in json.loads(row.columns))


def _shape(row: SchemaVersionRow) -> tuple[tuple[object, ...], ...]:
    """What of the columns the schema in data events shows."""
    members = ("name", "type", "optional", "default", "key")
    return tuple(tuple(column.get(name) for name in members) for column in json.loads(row.columns))


def _in_order(renames: Iterable[Rename]) -> tuple[Rename, ...]:
    # Stable: those of one statement stay in their order.
    return tuple(sorted(renames, key=lambda rename: rename.position))
