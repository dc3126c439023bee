"""What must hold for an applier at every cut, whatever the cut plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from tests.property.cuts import Cuts, Plan
from tests.property.histories import History, Tables
from tests.support.archives import Message


class Applier(Protocol):
    """Applies a batch after the other and gives the rows of each table."""

    def apply(self, batch: Iterable[Message]) -> Tables:
        """The state after one more batch."""


def hold(history: History, plan: Plan | Cuts, applier: Applier) -> None:
    """Silver equals the source, at a cut a state that it had, never an older one again.

    Raises:
        AssertionError: The first law that does not hold.
    """
    landed: dict[tuple[str, int], int] = {}
    reached = 0
    seen: dict[object, int] = {}
    state: Tables = {}
    # A truncate outside of transactions says nothing about the topic partitions that lag.
    whole = history.framed or (
        history.connector != "ticdc" and not plan.lagging and not history.plain
    )
    for batch in plan.batches(history.messages):
        if batch.outcome == "lost":
            continue
        for _ in range(2 if batch.outcome == "twice" else 1):
            state = applier.apply(batch.messages)
        landed |= {(m.topic, m.partition): m.offset + 1 for m in batch.messages}
        if not history.known or not _landed(history.snapshot_ends, landed):
            continue
        if whole:
            reached = _boundary(history, state, reached)
        else:
            _rows_go_forward(history, state, seen)
    assert state == history.boundaries[-1], "the end is not the source's"


def _landed(needed: Mapping[tuple[str, int], int], landed: Mapping[tuple[str, int], int]) -> bool:
    return all(landed.get(place, 0) >= end for place, end in needed.items())


def _boundary(history: History, state: Tables, reached: int) -> int:
    """The first state of the source from the last reached one on that equals this one."""
    for index in range(reached, len(history.boundaries)):
        if history.boundaries[index] == state:
            return index
    was = "an older one" if state in history.boundaries else "half a transaction"
    raise AssertionError(f"the cut is no state of the source from {reached} on: {was}")


def _rows_go_forward(history: History, state: Tables, seen: dict[object, int]) -> None:
    """The same for each key alone."""
    keys = {
        (t, k)
        for tables in (*history.boundaries, state)
        for t, rows in tables.items()
        for k in rows
    }
    for table, key in keys:
        row = state.get(table, {}).get(key)
        if row is None and (table, key) in history.rewritten:
            continue  # Without transactions a cut may lie between the delete and the create event.
        for index in range(seen.get((table, key), 0), len(history.boundaries)):
            if history.boundaries[index].get(table, {}).get(key) == row:
                seen[table, key] = index
                break
        else:
            raise AssertionError(f"{table} {key} went back to {row}")
