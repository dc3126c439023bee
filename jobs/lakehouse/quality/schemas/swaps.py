"""Tables that one statement puts in the place of others, as online schema changes do.

In: schema change events. Out: the same, in which a table whose place another one takes goes on
under its name, and what made room for it is a table of its own. MySQL and MariaDB send a message
for each pair of a RENAME TABLE, all with the statement's position. A log that is rotated looks the
same, and its rows are others: only the name of a tool tells that a table has the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from lakehouse.quality.schemas.ddl import Folded, SchemaEvent, folded
from lakehouse.quality.schemas.table_changes import TableChange

# A table whose name nothing has any more, though no statement drops it.
LEFT = "LEFT"
# What gh-ost and pt-online-schema-change, Facebook's tool and the large hadron migrator name the
# tables that take another one's place: https://github.com/github/gh-ost,
# https://docs.percona.com/percona-toolkit/pt-online-schema-change.html
_OF_TOOLS = re.compile(r"_+(?P<stem>.+)_(?:gho|new)|(?:__osc_new_|lhmn_)(?P<whole>.+)")
# They cut names of tables short that would be longer.
_LONGEST_NAME = 64


def with_swaps(events: Sequence[SchemaEvent]) -> tuple[SchemaEvent, ...]:
    """Tell swapped tables from renamed ones."""
    statements: dict[object, dict[tuple[Folded, Folded], None]] = {}
    for event in events:
        pairs = ((folded(was), folded(name)) for was, name in event.renamed)
        statements.setdefault(_statement(event), {}).update(dict.fromkeys(pairs))
    return tuple(
        _judged(event, _swapped(pairs), _by_hand(pairs))
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


def _by_hand(pairs: Iterable[tuple[Folded, Folded]]) -> set[Folded]:
    """The names that tables took whose own names no tool for online schema changes gives."""
    return {name for was, name in pairs if not _is_of_a_tool(was[-1], name[-1])}


def _is_of_a_tool(was: str, name: str) -> bool:
    found = _OF_TOOLS.fullmatch(was)
    if found is None:
        return False
    stem = found["stem"] or found["whole"]
    return name == stem or (len(was) >= _LONGEST_NAME and name.startswith(stem))


def _judged(
    event: SchemaEvent, swapped: Collection[Folded], by_hand: Collection[Folded]
) -> SchemaEvent:
    changes = (told for change in event.changes for told in _changes(change, swapped))
    marked = (replace(each, by_hand=folded(each.identity) in by_hand) for each in changes)
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
