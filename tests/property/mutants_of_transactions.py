"""Mutants of the reference that are wrong about transactions and about what is landed."""

from __future__ import annotations

from collections.abc import Iterable

from tests.property.reference import Reference, Tables
from tests.property.values import Fields
from tests.support.archives import Message


class HalfTransactions(Reference):
    """Events are applied as they come."""

    def ready(self, event) -> bool:
        self.whole.add(event.place[0])
        return super().ready(event)


class LaterTransactions(Reference):
    """Each whole transaction is applied, also behind one that is not: no prefix."""

    def release(self) -> None:
        self.whole |= {
            name for name, count in self.announced.items() if len(self.arrived[name]) >= count
        }
        super().release()


class EndIsEnough(Reference):
    """A transaction is whole with its END, whatever has landed of its tables."""

    def release(self) -> None:
        self.announced = dict.fromkeys(self.announced, 0)
        super().release()


class BeginIsEnough(Reference):
    """The next BEGIN ends a transaction, also one that was sent before."""

    last = ""

    def land(self, message: Message, payload: Fields) -> None:
        super().land(message, payload)
        if payload.get("status") == "BEGIN":
            self.announced.setdefault(self.last, 0)
            self.last = self.transaction_id(payload["id"])


class IdsWithLsn(Reference):
    """PostgreSQL's ids differ in BEGIN, each event and END, but for the number before the colon."""

    def transaction_id(self, ident: str) -> str:
        return ident


class RepeatsCounted(Reference):
    """An event that is landed twice counts twice."""

    def queue(self, message: Message, payload: Fields) -> None:
        super().queue(message, payload)
        event = self.waiting[message.topic, message.partition][-1]
        if event.place[1] and event.mark in self.marks_landed:
            self.arrived[event.place[0]].add(-message.offset - 1)
        self.marks_landed.add(event.mark)

    def __init__(self, connector: str) -> None:
        super().__init__(connector)
        self.marks_landed: set[object] = set()


class PendingForgotten(Reference):
    """What waited is gone when a batch comes again."""

    def apply(self, batch: Iterable[Message]) -> Tables:
        messages = tuple(batch)
        if any(m.offset < self.landed[m.topic, m.partition] for m in messages):
            self.waiting.clear()
        return super().apply(messages)


class ProgressByTopic(Reference):
    """One offset stands for all partitions of a topic."""

    def apply(self, batch: Iterable[Message]) -> Tables:
        state = super().apply(batch)
        highest: dict[str, int] = {}
        for (topic, _), offset in self.landed.items():
            highest[topic] = max(offset, highest.get(topic, 0))
        for topic, partition in list(self.landed):
            self.landed[topic, partition] = highest[topic]
        return state
