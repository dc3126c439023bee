"""Tables that one statement puts in the place of others, as online schema changes do.

In: schema change events. Out: the same, in which a table whose place another one takes goes on
under its name, and what made room for it is a table of its own. MySQL and MariaDB send a message
for each pair of a RENAME TABLE, all with the statement's position.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from lakehouse.quality.ddl import Folded, SchemaEvent, TableChange, folded

# A table whose name nothing has any more, though no statement drops it.
LEFT = "LEFT"


def with_swaps(events: Sequence[SchemaEvent]) -> tuple[SchemaEvent, ...]:
    """Tell swapped tables from renamed ones."""
    statements: dict[object, dict[tuple[Folded, Folded], None]] = {}
    for event in events:
        pairs = ((folded(was), folded(name)) for was, name in event.renamed)
        statements.setdefault(_statement(event), {}).update(dict.fromkeys(pairs))
    return tuple(
        _judged(event, _swapped(pairs), _exchanged(pairs))
        for event in events
        for pairs in (statements[_statement(event)],)
    )


def _statement(event: SchemaEvent) -> object:
    message = event.message
    return message.position or (message.topic, message.partition, message.offset)


def _swapped(pairs: Iterable[tuple[Folded, Folded]]) -> set[Folded]:
    """The names that one table leaves and another one takes."""
    listed = list(pairs)
    return {was for was, _ in listed} & {name for _, name in listed}


def _exchanged(pairs: Iterable[tuple[Folded, Folded]]) -> set[Folded]:
    """The names that go round in a circle, which no online schema change makes."""
    came: dict[Folded, Folded] = {}
    for was, name in pairs:
        came[name] = came.pop(was, was)
    found: set[Folded] = set()
    for start in came:
        circle = [start]
        while (origin := came.get(circle[-1])) is not None and origin not in circle:
            circle.append(origin)
        if origin == start and len(circle) > 1:
            found.update(circle)
    return found


def _judged(
    event: SchemaEvent, swapped: Collection[Folded], exchanged: Collection[Folded]
) -> SchemaEvent:
    changes = (told for change in event.changes for told in _changes(change, swapped))
    marked = (replace(each, exchanged=folded(each.identity) in exchanged) for each in changes)
    return replace(event, changes=tuple(marked))


def _changes(change: TableChange, swapped: Collection[Folded]) -> Iterator[TableChange]:
    is_swapped = folded(change.identity) in swapped
    has_swapped = change.was is not None and folded(change.was) in swapped
    if is_swapped and change.was and not has_swapped:
        # Nothing has the name any more of what took the table's place.
        yield TableChange(LEFT, change.was, (), ())
    if is_swapped or has_swapped:
        yield replace(change, was=None, swapped=is_swapped)
    else:
        yield change
