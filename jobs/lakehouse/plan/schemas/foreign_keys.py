"""Foreign keys as the source's statements declare them; no message tells them otherwise.

In: recorded statements. Out: the foreign keys that each table has after them. Where a statement
leaves it open whether a key is still there, it counts as gone: nothing is said of it then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from sqlglot import exp

from lakehouse.connectors import Connector, InlineReference
from lakehouse.plan.records import WITHHELD, SchemaVersionRow
from lakehouse.plan.schemas.incarnations import Parts
from lakehouse.plan.schemas.statements import parsed_statements

_ABOUT_KEYS = ("foreign key", "constraint", "references")
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
        referenced: Its columns; none where the statement names none.
        is_inline: Whether it stands behind the column's type, where some sources ignore it.
    """

    name: str
    columns: tuple[str, ...]
    qualifier: str
    table: str
    referenced: tuple[str, ...]
    is_inline: bool = False

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


def changes_keys(ddl: str, connector: Connector) -> frozenset[str]:
    """The tables, in lower case, of which a statement adds or drops foreign keys or constraints."""
    ignores = connector.inline_references is InlineReference.IGNORED
    return frozenset(
        table
        for table, said in _said(ddl, connector.ddl_dialect).items()
        if said.dropped or not all(ignores and key.is_inline for key in said.added)
    )


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


def unread_keys(
    rows: Iterable[SchemaVersionRow], connector: Connector
) -> dict[Parts, tuple[str, ...]]:
    """Why foreign keys of a table may be unknown, by the parts of its name; those with a reason.

    Args:
        rows: Of `quality.schema_versions`, oldest first.
        connector: Of the source.
    """
    found: dict[Parts, tuple[str, ...]] = {}
    for row in rows if connector.ddl_dialect else ():
        if row.is_from_ddl:
            table = row.source_table.parts(connector.name)
            was = row.previous_table.parts(connector.name) if row.previous_table else table
            kept = found.pop(was, ())
            is_new = "create_table" in row.change_kinds and not row.previous
            reason = _unread(row, connector.ddl_dialect)
            found[table] = tuple(dict.fromkeys([*(() if is_new else kept), reason]))
    return {table: tuple(filter(None, reasons)) for table, reasons in found.items() if any(reasons)}


def _unread(row: SchemaVersionRow, dialect: str | None) -> str:
    if row.ddl.endswith(WITHHELD):
        return "foreign keys: its statements are withheld, since it has masked columns"
    text = row.ddl.lower()
    if "references" in text and not _said(row.ddl, dialect):
        place = f"{row.topic}[{row.partition}] {row.offset}"
        return f"foreign keys: the statement at {place} is not understood"
    return ""


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


# Every statement is looked at for its keys and for what is not understood of them.
@lru_cache(maxsize=256)
def _said(ddl: str, dialect: str | None) -> Mapping[str, _Said]:
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
        named = key.find_ancestor(exp.Constraint)
        name = named.name if named is not None else key.name
        columns = tuple(column.name for column in key.expressions)
        yield from _key(name, columns, key.args.get("reference"))
    for column in statement.find_all(exp.ColumnDef):
        for constraint in column.constraints:
            if isinstance(constraint.kind, exp.Reference):
                found = _key(constraint.name, (column.name,), constraint.kind)
                yield from (replace(each, is_inline=True) for each in found)


def _key(
    name: str, columns: tuple[str, ...], reference: exp.Expression | None
) -> Iterator[ForeignKey]:
    to = reference.find(exp.Table) if reference is not None else None
    if to is not None and reference is not None:
        target = reference.this
        referenced = target.expressions if isinstance(target, exp.Schema) else ()
        names = tuple(column.name for column in referenced)
        yield ForeignKey(name.lower(), columns, to.db, to.name, names)


def _dropped(statement: exp.Alter) -> Iterator[str]:
    for action in statement.args.get("actions") or ():
        if isinstance(action, exp.Drop) and action.args.get("kind") in _DROPPING:
            names = [table.name.lower() for table in action.args.get("tables") or ()]
            yield from names or [action.name.lower()]
