"""Incarnations: a table that is dropped and created again is another table of the same name.

In: where the source dropped, created and renamed its tables. Out: which table an event belongs to
today. A table that is renamed carries its rows over to the new name (`design.md` §4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class End:
    """Where the life of a table under a name ended.

    Attributes:
        position: Of the statement; the table's events up to there are of that life.
        became: The table's new name; None where it was dropped.
    """

    position: str
    became: Parts | None = None


@dataclass(frozen=True, slots=True)
class Life:
    """The events of one name between two positions, and the table that they are of today.

    Attributes:
        behind: The position that they are behind; empty for the first ones.
        until: The last position; None for the events of today.
    """

    parts: Parts
    behind: str
    until: str | None
    table: Parts
    incarnation: int


@dataclass(frozen=True, slots=True)
class ToldTypes:
    """The types of a table's columns from a statement on.

    Attributes:
        position: Of the statement.
        types: Column → type as the source names it; those that no rule knows are left out.
        is_turn: Whether a column has another type than before.
    """

    position: str
    types: Mapping[str, str]
    is_turn: bool


@dataclass(frozen=True, slots=True)
class Incarnations:
    """What the source's statements did to whole tables, by the parts of a table's name.

    Attributes:
        ends: Where tables were dropped or renamed, ascending; snapshots repeat DROP statements,
            which do not count.
        creates: Positions of CREATE statements, ascending.
        turns: Positions behind which its schemas are other versions, ascending.
        types: What statements told of its columns since it was created, ascending by position.
    """

    ends: Mapping[Parts, tuple[End, ...]] = field(default_factory=dict)
    creates: Mapping[Parts, tuple[str, ...]] = field(default_factory=dict)
    turns: Mapping[Parts, tuple[str, ...]] = field(default_factory=dict)
    types: Mapping[Parts, tuple[ToldTypes, ...]] = field(default_factory=dict)

    def created(self, parts: Parts) -> int:
        """The incarnation that the newest CREATE statement began."""
        newest = max(self.creates.get(parts, ()), default="")
        return sum(end.position < newest for end in self.ends.get(parts, ()))

    def at(self, parts: Parts, position: str) -> tuple[Parts, int]:
        """The table, and which incarnation of it, that a name meant at a position."""
        number = sum(end.position < position for end in self.ends.get(parts, ()))
        return self._today(parts, number)

    def today(self, table: TableIdentity, connector: str) -> TableIdentity:
        """The identity that a table has by now."""
        parts, incarnation = self._today(table.parts(connector), table.incarnation)
        names = dict(zip(CONNECTORS[connector].identity_parts, parts, strict=True))
        return replace(table, incarnation=incarnation, **names)

    def types_at(
        self, table: TableIdentity, connector: str, position: str | None
    ) -> Mapping[str, str]:
        """The types of a table's columns as statements told them; empty where none did.

        Args:
            table: Of today.
            connector: Of the source.
            position: Of an event; None for one that has none.
        """
        own = table.parts(connector)
        former = {parts for parts, ends in self.ends.items() if any(end.became for end in ends)}
        found = [
            told
            for parts in {own, *former}
            for told in self.types.get(parts, ())
            if self.at(parts, told.position) == (own, table.incarnation)
            and (position is None or told.position <= position)
        ]
        return max(found, key=lambda told: told.position).types if found else {}

    def retyped(self) -> dict[Parts, tuple[str, ...]]:
        """Positions behind which columns have other types, ascending; only of tables with some."""
        found = {
            parts: tuple(told.position for told in mine if told.is_turn)
            for parts, mine in self.types.items()
        }
        return {parts: positions for parts, positions in found.items() if positions}

    def lives(self) -> Iterator[Life]:
        """All lives of names that were dropped or renamed."""
        for parts, ends in sorted(self.ends.items()):
            bounds = ["", *(end.position for end in ends)]
            for number, behind in enumerate(bounds):
                until = bounds[number + 1] if number < len(ends) else None
                yield Life(parts, behind, until, *self._today(parts, number))

    def _today(self, parts: Parts, number: int) -> tuple[Parts, int]:
        ends = self.ends.get(parts, ())
        if number >= len(ends) or ends[number].became is None:
            return parts, number
        end = ends[number]
        became = end.became or parts
        begun = sum(other.position <= end.position for other in self.ends.get(became, ()))
        return self._today(became, begun)
