"""Renamed columns: which column of silver a column of an event is.

In: the renames that the source's DDL told, with their positions, and how far silver's own columns
have followed. Out: for each schema version the stored name of its columns, and what `publish`
renames. Silver's columns are renamed in `publish` alone, right before `main` moves (`design.md`
§9); until then a batch is staged under the stored names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rename:
    """A column that the source renamed.

    Attributes:
        position: Where the statement stands, as in `_cdc.position`.
    """

    position: str
    was: str
    name: str


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
        names = {name.lower() for name in stored}
        found = []
        for rename in self.pending:
            if rename.was.lower() in names and rename.name.lower() not in names:
                names = names - {rename.was.lower()} | {rename.name.lower()}
                found.append(rename)
        return tuple(found)

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
        later = [rename for rename in self.all if rename.position > first_position]
        due = self.due(stored)
        return {name: _back(_forward(name, sent, later), due) for name in sent}


def _forward(name: str, sent: Sequence[str], later: Sequence[Rename]) -> str:
    """Today's name of a column; a version that has the new name already is not older."""
    present = {column.lower() for column in sent}
    for rename in later:
        if name.lower() == rename.was.lower() and rename.name.lower() not in present:
            name = rename.name
    return name


def _back(name: str, due: Sequence[Rename]) -> str:
    for rename in reversed(due):
        if name.lower() == rename.name.lower():
            name = rename.was
    return name
