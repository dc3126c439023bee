"""Schema change events: messages of the schema change topic, parsed.

In: messages of the schema change topic. Out: events with the full table after each change.
https://debezium.io/documentation/reference/stable/connectors/mysql.html ("Schema change topic")
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from lakehouse.connectors import CONNECTORS, Connector
from lakehouse.names import TableIdentity
from lakehouse.plan.schemas.foreign_keys import changes_keys
from lakehouse.plan.schemas.statement_words import Name, Names
from lakehouse.plan.schemas.statements import renamed_columns, renamed_tables, replaced_columns
from lakehouse.quality.schemas.table_changes import TableChange, table_change

# The names of a table in lower case.
Folded: TypeAlias = tuple[str, ...]

_MEMBERS = ("source", "ddl", "tableChanges")
_HOMES = ("databaseName", "schemaName")
# What Db2 and SQL Server send instead of a statement, but for a source snapshot.
NO_STATEMENT = "N/A"


@dataclass(frozen=True, slots=True)
class SchemaMessage:
    """A message of the schema change topic.

    Attributes:
        position: As in `_cdc.position`; None where the source block has none.
        document: The payload as JSON text; None when the value is no JSON.
        is_snapshot: Whether a source snapshot tells what is there already.
    """

    topic: str
    partition: int
    offset: int
    position: str | None
    document: str | None
    is_snapshot: bool = False


@dataclass(frozen=True, slots=True)
class SchemaEvent:
    """A schema change event; `problem` says why it could not be read.

    Attributes:
        renamed: The tables that its statement renames, as they were and as they are.
        keyed: Those of which it adds or drops foreign keys or constraints, in lower case.
    """

    message: SchemaMessage
    ddl: str
    changes: tuple[TableChange, ...]
    problem: str = ""
    renamed: tuple[tuple[TableIdentity, TableIdentity], ...] = ()
    keyed: frozenset[str] = frozenset()


def parse_event(message: SchemaMessage, connector: str) -> SchemaEvent:
    """Read one message; what cannot be read is an event with a problem, never an error."""
    try:
        document = json.loads(message.document or "")
        missing = [name for name in _MEMBERS if name not in document]
        if missing:
            return SchemaEvent(message, "", (), f"without {', '.join(missing)}")
        return event_of(message, document, connector)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as broken:
        return SchemaEvent(message, "", (), f"not readable: {type(broken).__name__}: {broken}")


def event_of(message: SchemaMessage, document: Mapping[str, object], connector: str) -> SchemaEvent:
    """The statement of a document, and what it did to tables.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: The document is none of a schema change.
    """
    rules = CONNECTORS[connector]
    dialect = rules.ddl_dialect
    ddl, told = str(document.get("ddl") or ""), document.get("tableChanges") or ()
    if not isinstance(told, Sequence):
        raise TypeError(f"tableChanges: expected a list, found {type(told).__name__}")
    columns, tables = renamed_columns(ddl, dialect), renamed_tables(ddl, dialect)
    sent = [table_change(each, connector, columns) for each in told]
    read = _with_new_columns(sent, replaced_columns(ddl, dialect))
    changes = _with_old_tables(read, tables, rules)
    told_so = [(change.was, change.identity) for change in changes if change.was]
    own = changes[0].identity if changes else _own(document)
    unsent = (tuple(_named(own, name, rules) for name in pair) for pair in tables)
    renamed = tuple(dict.fromkeys((*told_so, *((was, name) for was, name in unsent))))
    keyed = changes_keys(ddl, rules)
    return SchemaEvent(message, ddl, tuple(changes), renamed=renamed, keyed=keyed)


def without_copies(events: Sequence[SchemaEvent]) -> tuple[SchemaEvent, ...]:
    """Each change once: where events stand in data topics, every topic partition has them all."""
    seen: set[tuple[object, ...]] = set()
    kept: list[SchemaEvent] = []
    for event in events:
        told = (event.message.position, event.ddl, event.changes)
        if event.message.position is None or event.problem or told not in seen:
            kept.append(event)
        seen.add(told)
    return tuple(kept)


def _with_old_tables(
    changes: Sequence[TableChange], renamed: Sequence[Names], rules: Connector
) -> tuple[TableChange, ...]:
    """A name without its database is one of the table's own, which stands in the change."""
    return tuple(
        replace(
            change,
            was=next(
                (
                    _named(change.identity, old, rules)
                    for old, name in reversed(renamed)
                    if folded(_named(change.identity, name, rules)) == folded(change.identity)
                ),
                change.was,
            ),
        )
        for change in changes
    )


def _named(own: TableIdentity, name: Name, rules: Connector) -> TableIdentity:
    """The table that a statement names where `own` is at home; it may write it in another case."""
    qualifier, table = name
    is_schema = "schema_name" in rules.identity_parts
    home = own.schema_name if is_schema else own.database
    if not qualifier or qualifier.lower() == (home or "").lower():
        return replace(own, table=table)
    if is_schema:
        return replace(own, schema_name=qualifier, table=table)
    return replace(own, database=qualifier, table=table)


def folded(table: TableIdentity) -> Folded:
    """A table whatever the case that its name is written in."""
    return tuple((part or "").lower() for part in (table.database, table.schema_name, table.table))


def _own(document: Mapping[str, object]) -> TableIdentity:
    """Where the statement of a document was, as far as it says so, without a table."""
    database, schema = (str(document.get(name) or "") or None for name in _HOMES)
    return TableIdentity(database, schema, "")


def _with_new_columns(
    changes: Sequence[TableChange], replaced: Collection[str]
) -> Sequence[TableChange]:
    return [
        replace(
            change,
            columns=tuple(replace(c, anew=c.name.lower() in replaced) for c in change.columns),
        )
        for change in changes
    ]
