"""Mutants of the reference: mistakes that appliers make, each of which the laws must catch."""

from __future__ import annotations

from dataclasses import dataclass

from tests.property.mutants_of_rows import (
    BarrierOfAllTables,
    ChangeScnAlone,
    CommitScnAlone,
    FirstColumnsOnly,
    MarksOfMovesForgotten,
    NoBarrier,
    NullsKept,
    OnePositionForTheTable,
    ReadResurrects,
    RedeliveryWithoutKey,
    TombstonesDelete,
)
from tests.property.mutants_of_transactions import (
    BeginIsEnough,
    EndIsEnough,
    HalfTransactions,
    IdsWithLsn,
    LaterTransactions,
    PendingForgotten,
    ProgressByTopic,
    RepeatsCounted,
)
from tests.property.reference import UNAVAILABLE, Reference
from tests.property.values import Event, Fields, Position, Row, Version
from tests.support.archives import Message


class NumbersAsText(Reference):
    """Positions compare as text: "10000015" is before "9999990"."""

    def position(self, message: Message, payload: Fields) -> Position:
        position = super().position(message, payload)
        return tuple(tuple(str(number) for number in part) for part in position)  # type: ignore[misc]


class NullSequenceFirst(Reference):
    """PostgreSQL's null `sequence[0]` is before every number."""

    def position(self, message: Message, payload: Fields) -> Position:
        commit, rest = super().position(message, payload)
        return ((0,) if "[null," in payload["source"]["sequence"] else commit), rest


class ReadAlwaysWins(Reference):
    """A read event is an upsert that no position guards."""

    def change(self, event: Event) -> None:
        if event.op == "r":
            self.tables[event.table][event.key] = Version(
                event.position, self.image(event, {}), event.level
            )
        else:
            super().change(event)


class ReadOnlyInserts(Reference):
    """A read event never changes a row that is there."""

    def follows(self, event: Event, stored: Version) -> bool:
        return super().follows(event, stored) and not (event.op == "r" and stored.row)


class MarksForgotten(Reference):
    """A row that goes leaves nothing."""

    def release(self) -> None:
        super().release()
        for table, keys in self.tables.items():
            gone = {key for key, version in keys.items() if version.row is None}
            for key in gone:
                del keys[key]
            self.marks = {mark for mark in self.marks if mark[0] != table or mark[1] not in gone}


class TiesDropped(Reference):
    """Of the events of one position the first counts."""

    def change(self, event: Event) -> None:
        stored = self.tables[event.table].get(event.key, Version())
        if event.op == "t" or event.position > stored.position:
            super().change(event)
        self.done.setdefault(event.place, None)


class RedeliveriesApplied(Reference):
    """Of the events of one position the last counts, also when it was seen before."""

    def change(self, event: Event) -> None:
        self.marks.clear()
        super().change(event)


class RedeliveryByImage(Reference):
    """The same position, op, key and image: without the total order A, B, A ends with B."""

    def change(self, event: Event) -> None:
        table, key, op, same, _ = event.mark
        super().change(event._replace(mark=(table, key, op, same, 0)))


class PlaceholdersWritten(Reference):
    """The placeholder is a value like any other."""

    def image(self, event: Event, stored: Row) -> Row | None:
        row = super().image(event, stored)
        kept = {c: v for c, v in event.after.items() if v == UNAVAILABLE}
        return None if row is None else row | kept


class PlaceholdersByKey(Reference):
    """A large value is looked for under the new key only."""

    def image(self, event: Event, stored: Row) -> Row | None:
        return super().image(event._replace(op="u") if event.op == "c" else event, stored)


class TruncateByOffset(Reference):
    """A truncate removes what is there when it comes."""

    def truncate(self, event: Event) -> None:
        keys = self.tables[event.table]
        for key, version in keys.items():
            keys[key] = version._replace(row=None)


class TruncateByPair(Reference):
    """PostgreSQL's barrier is the pair of `source.sequence`, to the letter of design.md §3."""

    def queue(self, message: Message, payload: Fields) -> None:
        super().queue(message, payload)
        waiting = self.waiting[message.topic, message.partition]
        waiting[-1] = waiting[-1]._replace(level=waiting[-1].position)


class ReadByWholePosition(Reference):
    """An incremental `r` counts with all of its position, not with the commit part."""

    def position(self, message: Message, payload: Fields) -> Position:
        op = (
            "c" if payload["op"] == "r" and payload["source"]["snapshot"] == "incremental" else None
        )
        return super().position(message, payload | {"op": op or payload["op"]})


class OneLogForever(Reference):
    """Binlog positions of several servers are compared."""

    def position(self, message: Message, payload: Fields) -> Position:
        commit, rest = super().position(message, payload)
        return commit[1:], rest


class SnapshotByOwnLsn(Reference):
    """PostgreSQL's snapshot rows have the position (own, own), to the letter of design.md §3."""

    def position(self, message: Message, payload: Fields) -> Position:
        commit, rest = super().position(message, payload)
        snapshot = payload["op"] == "r" and payload["source"]["snapshot"] != "incremental"
        return commit, commit if snapshot else rest


@dataclass(frozen=True)
class Mutant:
    """A mistake, and connectors whose histories show it."""

    make: type[Reference]
    connectors: tuple[str, ...]


MUTANTS = tuple(
    Mutant(make, connectors)
    for make, connectors in (
        (NumbersAsText, ("postgresql", "oracle", "mysql")),
        (NullSequenceFirst, ("postgresql",)),
        (SnapshotByOwnLsn, ("postgresql",)),
        (ReadAlwaysWins, ("db2", "oracle", "mysql")),
        (ReadByWholePosition, ("postgresql",)),
        (ReadOnlyInserts, ("postgresql", "oracle")),
        (MarksForgotten, ("db2", "ticdc")),
        (TiesDropped, ("mariadb", "oracle", "ticdc")),
        (RedeliveriesApplied, ("mariadb",)),
        (RedeliveryByImage, ("mariadb",)),
        (PlaceholdersWritten, ("postgresql", "oracle")),
        (PlaceholdersByKey, ("postgresql", "oracle")),
        (TruncateByOffset, ("postgresql", "mysql", "ticdc")),
        (HalfTransactions, ("sqlserver", "oracle", "postgresql")),
        (LaterTransactions, ("db2", "postgresql")),
        (EndIsEnough, ("postgresql",)),
        (BeginIsEnough, ("postgresql",)),
        (IdsWithLsn, ("postgresql",)),
        (RepeatsCounted, ("postgresql",)),
        (PendingForgotten, ("mysql",)),
        (ProgressByTopic, ("mysql",)),
        (MarksOfMovesForgotten, ("mariadb",)),
        (ReadResurrects, ("db2",)),
        (TombstonesDelete, ("sqlserver",)),
        (NoBarrier, ("ticdc",)),
        (BarrierOfAllTables, ("postgresql",)),
        (NullsKept, ("mysql",)),
        (FirstColumnsOnly, ("oracle",)),
        (OnePositionForTheTable, ("sqlserver",)),
        (RedeliveryWithoutKey, ("ticdc",)),
        (ChangeScnAlone, ("oracle",)),
        (CommitScnAlone, ("oracle",)),
        (OneLogForever, ("mysql", "mariadb")),
    )
)
