"""Mutants of the reference that are wrong about rows, their images and what guards them."""

from __future__ import annotations

from collections.abc import Iterable

from tests.property.reference import Reference, Tables
from tests.property.values import Event, Fields, Name, Position, Row, Version
from tests.support.archives import Message


class MarksOfMovesForgotten(Reference):
    """A key that a row leaves for another one leaves nothing."""

    def change(self, event: Event) -> None:
        transaction, order = event.place
        moved = event.op == "c" and self.done.get((transaction, order - 1)) is not None
        before = self.gone if moved else None
        super().change(event)
        if before and before[2] == event.position:
            self.tables[before[0]].pop(before[1], None)
            self.marks = {mark for mark in self.marks if mark[:2] != before[:2]}
        if event.op == "d":
            self.gone = event.table, event.key, event.position

    gone: tuple[Name, Name, Position] | None = None


class ReadResurrects(Reference):
    """A read event is not guarded by the position of a delete mark."""

    def change(self, event: Event) -> None:
        stored = self.tables[event.table].get(event.key)
        if event.op == "r" and stored and stored.row is None:
            del self.tables[event.table][event.key]
            self.marks.discard(event.mark)
        super().change(event)


class TombstonesDelete(Reference):
    """A tombstone is a delete of its own, at its place in the topic partition."""

    def apply(self, batch: Iterable[Message]) -> Tables:
        messages = tuple(batch)
        state = super().apply(messages)
        gone = {(m.topic, m.key) for m in messages if m.value is None}
        return {
            table: {
                key: row
                for key, row in rows.items()
                if not any(
                    topic.endswith(f".{table[2]}") and f'":{key[0]}}}'.encode() in (text or b"")
                    for topic, text in gone
                )
            }
            for table, rows in state.items()
        }


class NoBarrier(Reference):
    """A truncate removes older rows, and keeps nothing for what comes late."""

    def truncate(self, event: Event) -> None:
        super().truncate(event)
        self.barriers.clear()


class BarrierOfAllTables(Reference):
    """A truncate of one table guards all of them."""

    def truncate(self, event: Event) -> None:
        super().truncate(event)
        for table in self.tables:
            self.barriers[table] = self.barriers[event.table]


class NullsKept(Reference):
    """A column that became null keeps its value, as in a partial update."""

    def image(self, event: Event, stored: Row) -> Row | None:
        row = super().image(event, stored)
        return None if row is None else stored | row


class FirstColumnsOnly(Reference):
    """A column that is added later is not followed."""

    def image(self, event: Event, stored: Row) -> Row | None:
        row = super().image(event, stored)
        names = self.columns.setdefault(event.table, set(event.after)) if event.after else set()
        return None if row is None else {n: v for n, v in row.items() if n in names}

    def __init__(self, connector: str) -> None:
        super().__init__(connector)
        self.columns: dict[Name, set[str]] = {}


class OnePositionForTheTable(Reference):
    """Whatever is older than the newest event of its table is old news."""

    def follows(self, event: Event, stored: Version) -> bool:
        newest = self.newest.get(event.table, ())
        self.newest[event.table] = max(newest, event.position)
        return event.position >= newest and super().follows(event, stored)

    def __init__(self, connector: str) -> None:
        super().__init__(connector)
        self.newest: dict[Name, Position] = {}


class RedeliveryWithoutKey(Reference):
    """The same position, op and image is a redelivery, whatever the key."""

    def change(self, event: Event) -> None:
        table, _, op, same, order = event.mark
        super().change(event._replace(mark=(table, (), op, same, order)))


class ChangeScnAlone(Reference):
    """Oracle's changes are ordered by their own SCN: a transaction may be older than it commits."""

    def position(self, message: Message, payload: Fields) -> Position:
        source = payload["source"]
        streamed = source.get("commit_scn") and payload["op"] != "r"
        changed = source | {"commit_scn": None} if streamed else source
        return super().position(message, payload | {"source": changed})


class CommitScnAlone(Reference):
    """Oracle's truncates carry the commit SCN of the transaction before."""

    def position(self, message: Message, payload: Fields) -> Position:
        source = payload["source"]
        changed = source | {"scn": source["commit_scn"] or source["scn"]}
        return super().position(message, payload | {"source": changed})
