"""Tables that one statement puts in the place of others, as online schema changes do.

In: schema change events. Out: the same, in which a table whose place another one takes goes on
under its name, and what made room for it is a table of its own. MySQL and MariaDB send a message
for each pair of a RENAME TABLE, all with the statement's position.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from lakehouse.quality.ddl import SchemaEvent, TableChange

# A table whose name nothing has any more, though no statement drops it.
LEFT = "LEFT"


def with_swaps(events: Sequence[SchemaEvent]) -> tuple[SchemaEvent, ...]:
    """Tell swapped tables from renamed ones."""
    statements: dict[object, set[tuple[str, str]]] = {}
    for event in events:
        pairs = ((was.lower(), name.lower()) for was, name in event.renamed)
        statements.setdefault(_statement(event), set()).update(pairs)
    return tuple(_judged(event, _swapped(statements[_statement(event)])) for event in events)


def _statement(event: SchemaEvent) -> object:
    message = event.message
    return message.position or (message.topic, message.partition, message.offset)


def _swapped(pairs: Iterable[tuple[str, str]]) -> set[str]:
    """The names that one table leaves and another one takes."""
    listed = list(pairs)
    return {was for was, _ in listed} & {name for _, name in listed}


def _judged(event: SchemaEvent, swapped: Collection[str]) -> SchemaEvent:
    changes = (told for change in event.changes for told in _changes(change, swapped))
    return replace(event, changes=tuple(changes))


def _changes(change: TableChange, swapped: Collection[str]) -> Iterator[TableChange]:
    is_swapped = change.identity.table.lower() in swapped
    if is_swapped and change.was and change.was.lower() not in swapped:
        # Nothing has the name any more of what took the table's place.
        yield TableChange(LEFT, replace(change.identity, table=change.was), (), ())
    if is_swapped or change.was.lower() in swapped:
        yield replace(change, was="", swapped=is_swapped)
    else:
        yield change
