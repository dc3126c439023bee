"""Foreign keys as the source's statements declare them; no message tells them otherwise.

In: recorded statements. Out: the foreign keys that each table has after them. Where a statement
leaves it open whether a key is still there, it counts as gone: nothing is said of it then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from sqlglot import exp

from lakehouse.connectors import Connector
from lakehouse.plan.incarnations import Parts
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.statements import parsed_statements

_ABOUT_KEYS = ("foreign key", "constraint")
# After these, other tables' keys may refer to another table than their text says.
_MOVING = frozenset({"drop_table", "rename_table", "swap_table"})
_Keys: TypeAlias = "dict[Parts, tuple[ForeignKey, ...]]"
_DROPPING = ("FOREIGN KEY", "CONSTRAINT")


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """One foreign key; names as the statement writes them.

    Attributes:
        name: In lower case; empty where the source chose one.
        columns: Those of the table that has it.
        qualifier: What stands before the name of the referenced table; empty for its own place.
        table: The referenced one.
        referenced: Its columns; none for its primary key.
    """

    name: str
    columns: tuple[str, ...]
    qualifier: str
    table: str
    referenced: tuple[str, ...]

    def refers_to(self, other: Parts, of: Parts) -> bool:
        """Whether it refers to another table.

        Args:
            other: The table.
            of: The one that has the key.
        """
        if other[-1].lower() != self.table.lower():
            return False
        if self.qualifier:
            return other[-2].lower() == self.qualifier.lower()
        return other[:-1] == of[:-1]


@dataclass(frozen=True, slots=True)
class _Said:
    """What one statement says of the foreign keys of one table."""

    added: tuple[ForeignKey, ...] = ()
    dropped: tuple[str, ...] = ()


def changes_keys(ddl: str, dialect: str | None) -> frozenset[str]:
    """The tables, in lower case, of which a statement adds or drops foreign keys or constraints."""
    return frozenset(_said(ddl, dialect))


def foreign_keys(
    rows: Iterable[SchemaVersionRow], connector: Connector
) -> dict[Parts, tuple[ForeignKey, ...]]:
    """Each table's foreign keys after all statements, by the parts of its name.

    Args:
        rows: Of `quality.schema_versions`, oldest first.
        connector: Of the source; says in which SQL its statements are.
    """
    found: _Keys = {}
    for row in rows if connector.ddl_dialect else ():
        if row.is_from_ddl:
            _fold(row, connector, found)
    return {table: keys for table, keys in found.items() if keys}


def _fold(row: SchemaVersionRow, connector: Connector, found: _Keys) -> None:
    table = row.source_table.parts(connector.name)
    was = row.previous_table.parts(connector.name) if row.previous_table else table
    kept = found.pop(was, ())
    if _MOVING & set(row.change_kinds):
        for other, keys in found.items():
            found[other] = tuple(key for key in keys if not key.refers_to(was, other))
    if {"create_table", "swap_table"} & set(row.change_kinds) and not row.previous:
        kept = ()
    said = _said(row.ddl, connector.ddl_dialect).get(table[-1].lower(), _Said())
    # Where the source chose a key's name, any unknown one may be it.
    gone = {*said.dropped, *([""] if set(said.dropped) - {key.name for key in kept} else ())}
    columns = json.loads(row.columns)
    renamed = {str(c["was"]).lower(): str(c["name"]) for c in columns if c.get("was")}
    there = {str(column["name"]).lower() for column in columns}
    left = (
        replace(key, columns=_renamed(key.columns, renamed)) for key in kept if key.name not in gone
    )
    found[table] = tuple(
        key for key in (*left, *said.added) if {name.lower() for name in key.columns} <= there
    )


def _renamed(columns: Iterable[str], renamed: dict[str, str]) -> tuple[str, ...]:
    return tuple(renamed.get(name.lower(), name) for name in columns)


def _said(ddl: str, dialect: str | None) -> dict[str, _Said]:
    """Table in lower case → what a text says of its keys."""
    if dialect is None or not any(words in ddl.lower() for words in _ABOUT_KEYS):
        return {}
    found: dict[str, _Said] = {}
    for statement in parsed_statements(ddl, dialect):
        table = statement.find(exp.Table)
        added = tuple(_keys(statement))
        dropped = tuple(_dropped(statement)) if isinstance(statement, exp.Alter) else ()
        if table is not None and (added or dropped):
            before = found.get(table.name.lower(), _Said())
            found[table.name.lower()] = _Said(before.added + added, before.dropped + dropped)
    return found


def _keys(statement: exp.Expr) -> Iterator[ForeignKey]:
    if not isinstance(statement, exp.Alter | exp.Create):
        return
    for key in statement.find_all(exp.ForeignKey):
        reference = key.args.get("reference")
        to = reference.find(exp.Table) if reference is not None else None
        named = key.find_ancestor(exp.Constraint)
        if to is not None and reference is not None:
            target = reference.this
            columns = target.expressions if isinstance(target, exp.Schema) else ()
            yield ForeignKey(
                name=(named.name if named is not None else key.name).lower(),
                columns=tuple(column.name for column in key.expressions),
                qualifier=to.db,
                table=to.name,
                referenced=tuple(column.name for column in columns),
            )


def _dropped(statement: exp.Alter) -> Iterator[str]:
    for action in statement.args.get("actions") or ():
        if isinstance(action, exp.Drop) and action.args.get("kind") in _DROPPING:
            names = [table.name.lower() for table in action.args.get("tables") or ()]
            yield from names or [action.name.lower()]
