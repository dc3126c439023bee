"""Faults that the messages of every topic with schema changes can have.

In: its events, in order. Out: for each fault, where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from lakehouse.quality.judgement import Measurement
from lakehouse.quality.schemas import ddl, table_changes

_NOTED = 20


def measurement(topic: str, counted: Mapping[str, Iterable[str]]) -> Measurement:
    """How many faults of each kind there are, with a note that names the first of them.

    Args:
        topic: Its name.
        counted: Metric → what it counts, in words; equal words count once.
    """
    found = {name: list(dict.fromkeys(notes)) for name, notes in counted.items()}
    return Measurement(
        topic,
        {name: len(notes) for name, notes in found.items()},
        {name: "; ".join(notes[:_NOTED]) for name, notes in found.items() if notes},
    )


def strays(events: Iterable[ddl.SchemaEvent]) -> Iterator[str]:
    """Messages outside the first partition: they have no order."""
    for event in events:
        if event.message.partition != 0:
            yield place(event)


def malformed(events: Iterable[ddl.SchemaEvent]) -> Iterator[str]:
    """Events that cannot be read."""
    for event in events:
        if event.problem:
            yield f"{place(event)}: {event.problem}"


def falling(events: Sequence[ddl.SchemaEvent]) -> Iterator[str]:
    """Events that stand behind one with a greater position."""
    placed = [event for event in events if event.message.position is not None]
    for earlier, later in pairwise(placed):
        if (later.message.position or "") < (earlier.message.position or ""):
            yield place(later)


def changes(
    events: Iterable[ddl.SchemaEvent],
) -> Iterator[tuple[ddl.SchemaEvent, table_changes.TableChange]]:
    """Every change of a table, with its event."""
    return ((event, change) for event in events for change in event.changes)


def place(event: ddl.SchemaEvent) -> str:
    """Where an event stands, for a person."""
    message = event.message
    place = f"partition {message.partition}, " if message.partition else ""
    return f"{place}offset {message.offset}"
