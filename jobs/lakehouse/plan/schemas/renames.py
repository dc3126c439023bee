"""Renamed columns: which column of silver a column of an event is.

In: the renames that the source's DDL told, with their positions, and how far silver's own columns
have followed. Out: for each schema version the stored name of its columns, and what `publish`
renames. Silver's columns are renamed in `publish` alone, right before `main` moves (`design.md`
§9); until then a batch is staged under the stored names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

# A column on its way to a name that another one has still; one that is new, until its name is free.
_MOVING, _COMING = "__moving", "__coming"


@dataclass(frozen=True, slots=True)
class Rename:
    """A column that gets another name.

    Attributes:
        position: Where the statement stands, as in `_cdc.position`.
        goes: Whether the source has dropped it, and its name is used again.
        comes: Whether it is the new column of that name, staged under the name `was` until
            `publish` has renamed the old one.
    """

    position: str
    was: str
    name: str
    goes: bool = False
    comes: bool = False


@dataclass(frozen=True, slots=True)
class Renames:
    """The renames of one table.

    Attributes:
        all: Every known one, in the order of positions.
        done: Position of the last one that silver's columns have followed; empty for none.
    """

    all: tuple[Rename, ...] = ()
    done: str = ""

    @property
    def newest(self) -> str:
        """Position of the last one; empty for none."""
        return self.all[-1].position if self.all else ""

    @property
    def pending(self) -> tuple[Rename, ...]:
        """Those that silver has not followed."""
        return tuple(rename for rename in self.all if rename.position > self.done)

    def due(self, stored: Collection[str]) -> tuple[Rename, ...]:
        """Those that silver's columns are to follow: it has the old name and not the new one."""
        return _followed(self.pending, stored)[0] if stored else ()

    def missed(self, stored: Collection[str]) -> tuple[Rename, ...]:
        """Those that came after rows with the new name: silver has both columns."""
        names, due = {name.lower() for name in stored}, self.due(stored)
        return tuple(
            each
            for each in self.pending
            if not (each.goes or each.comes or each in due)
            and {each.was.lower(), each.name.lower()} <= names
        )

    def stored_names(
        self, columns: Iterable[str], first_position: str, stored: Collection[str]
    ) -> dict[str, str]:
        """The names under which silver stores columns of one schema version.

        Args:
            columns: Their names in the events.
            first_position: The lowest position of an event with this version.
            stored: Silver's columns before the batch; empty for a table that is to be created.

        Returns:
            Name in the events → stored name, for every column.
        """
        sent = list(columns)
        later = [rename for rename in self.all if rename.position >= first_position]
        today = _followed(later, sent)[1]
        due = self.due(stored)
        return {name: _back(today[name.lower()] or name, due) for name in sent}


def names_after(renames: Iterable[Rename], columns: Iterable[str]) -> dict[str, str]:
    """Column as stored → its name once some renames, in order, are followed."""
    listed = list(columns)
    ends = _followed(renames, listed)[1]
    return {name: ends[name.lower()] or name for name in listed}


def in_time(renames: Iterable[Rename], done: str, applied: str) -> tuple[Rename, ...]:
    """Without the names that are used again, where rows of both columns stand in one already.

    Args:
        renames: Those of one table, in order.
        done: Position of the last one that silver's columns have followed.
        applied: Position up to which the table is applied; empty for a table that is new or behind.
    """
    return tuple(
        each
        for each in renames
        if not (each.goes or each.comes) or each.position <= done or each.position > applied
    )


def in_turn(
    position: str,
    pairs: Iterable[tuple[str, str]],
    gone: Iterable[tuple[str, str]] = (),
    new: Iterable[str] = (),
) -> tuple[Rename, ...]:
    """The renames of one statement, which happen at once, one after the other.

    Args:
        position: Where the statement stands.
        pairs: Old and new names; columns may swap theirs.
        gone: The same of dropped columns whose names are used again.
        new: Those of the names that new columns get.
    """
    left = list(pairs)
    ordered = [Rename(position, was, name, goes=True) for was, name in gone]
    while left:
        names = {was.lower() for was, _ in left}
        free = next((pair for pair in left if pair[1].lower() not in names), None)
        was, name = free or left[0]
        left.remove((was, name))
        if free is None:
            # Each of the rest waits for another one.
            left.append((was + _MOVING, name))
            name = was + _MOVING
        ordered.append(Rename(position, was, name))
    coming = (Rename(position, name + _COMING, name, comes=True) for name in new)
    return (*ordered, *coming)


def _followed(
    renames: Iterable[Rename], names: Iterable[str]
) -> tuple[tuple[Rename, ...], dict[str, str | None]]:
    """What of some renames, in order, columns follow, and the name that each ends with."""
    ends: dict[str, str | None] = {name.lower(): None for name in names}
    began = {name: name for name in ends}
    followed = []
    for rename in renames:
        was, name = rename.was.lower(), rename.name.lower()
        if name in began or not (rename.comes or was in began):
            continue
        if was in began:
            first = began.pop(was)
            began[name], ends[first] = first, rename.name
        followed.append(rename)
    return tuple(followed), ends


def _back(name: str, due: Sequence[Rename]) -> str:
    for rename in reversed(due):
        if name.lower() == rename.name.lower():
            name = rename.was
    return name
