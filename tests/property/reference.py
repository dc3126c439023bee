"""A reference applier: Kafka messages in, the rows of the source at each cut out.

Written from `design.md` §3 and `messages.md` §2-§4 alone, it shares no line with the product and
can judge it. It knows integers, text and null. "Choice" marks what the contract leaves open.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable

from tests.property import values
from tests.property.values import LEVELS, POSITIONS, Event, Fields, Name, Position, Row, Version
from tests.support.archives import Message

Tables = dict[Name, dict[Name, Row]]
UNAVAILABLE = "__debezium_unavailable_value"


class Reference:
    """Applies batches; a batch may hold messages that were given before."""

    def __init__(self, connector: str) -> None:
        self.connector = connector
        self.tables: dict[Name, dict[Name, Version]] = defaultdict(dict)
        self.barriers: dict[Name, Name] = {}
        self.landed: dict[tuple[str, int], int] = defaultdict(int)  # → the next offset.
        self.highest: dict[tuple[str, int], int] = defaultdict(int)  # → PostgreSQL's largest LSN.
        self.waiting: dict[tuple[str, int], deque[Event]] = defaultdict(deque)
        self.begun: dict[str, None] = {}
        self.announced: dict[str, int] = {}  # Transaction → events that its END counts.
        self.arrived: dict[str, set[int]] = defaultdict(set)  # Transaction → its events landed.
        self.whole: set[str | None] = {None}
        self.marks: set[Name] = set()
        self.done: dict[tuple[str | None, int], Row | None] = {}  # Place → the row it removed.

    def apply(self, batch: Iterable[Message]) -> Tables:
        """The rows that exist after one more batch; tables without rows are left out."""
        for message in batch:
            if message.offset >= self.landed[message.topic, message.partition]:
                self.landed[message.topic, message.partition] = message.offset + 1
                if message.value is not None:  # Tombstones say what their delete event said.
                    document = json.loads(message.value)
                    self.land(message, document.get("payload", document))
        self.release()
        rows = {t: {k: v.row for k, v in keys.items() if v.row} for t, keys in self.tables.items()}
        return {table: live for table, live in rows.items() if live}

    def land(self, message: Message, payload: Fields) -> None:
        """Note a transaction's bounds, or queue an event; everything else is control."""
        if payload.get("status") == "END":
            # All its data collections are ingested here, so that their total is enough.
            self.announced[self.transaction_id(payload["id"])] = payload["event_count"]
        elif payload.get("status") == "BEGIN":
            self.begun[self.transaction_id(payload["id"])] = None
        elif str(payload.get("ddl")).startswith("TRUNCATE") and self.connector == "ticdc":
            self.queue(message, payload | {"op": "t"})
        elif payload.get("op") in {"c", "r", "u", "d", "t"}:
            self.queue(message, payload)

    def transaction_id(self, ident: str) -> str:
        return ident.partition(":")[0] if self.connector == "postgresql" else ident

    def queue(self, message: Message, payload: Fields) -> None:
        source, op, after = payload["source"], payload["op"], payload.get("after") or {}
        block = payload.get("transaction") or {"id": None, "total_order": 0}
        name = block["id"] and self.transaction_id(block["id"])
        self.arrived[name].add(block["total_order"])
        table = source["db"], source.get("schema"), source["table"]
        key, position = (
            () if op == "t" else values.key_of(message.key),
            self.position(message, payload),
        )
        # Choice: (txId, lsn, op, key) tells each redelivery of a streamed PostgreSQL event, also
        # where `sequence[0]` is not null: null or not depends on where the connector restarted.
        streamed = "lsn" in source and op != "r"
        change = (source["txId"], source["lsn"]) if streamed else position
        mark = (table, key, op, (change, streamed or str(after)), block["total_order"])
        place = name, block["total_order"]
        if name is None:  # The halves of a key change are all that belongs together.
            old = dict(message.headers).get("__debezium.oldkey")
            place = str((table, change, values.key_of(old) if old else key)), 1 + bool(old)
            self.whole.add(place[0])
        level = LEVELS.get(self.connector, lambda _: position)(source)
        event = Event(table, key, op, after, position, level, place, mark)
        self.waiting[message.topic, message.partition].append(event)

    def position(self, message: Message, payload: Fields) -> Position:
        commit, rest = POSITIONS[self.connector](payload["source"])
        where = message.topic, message.partition
        before = self.highest[where]
        self.highest[where] = max((before, *commit, *rest))
        if not commit:  # PostgreSQL, where it is never "first".
            commit = rest if payload["op"] == "r" else (max(before, *rest),)
        # Choice: of a snapshot's `r` too only the commit part counts. With (own, own) a change of
        # a transaction that was open at the snapshot, whose LSN is lower, would be lost.
        return commit, () if payload["op"] == "r" else rest

    def release(self) -> None:
        """Apply what is not held, each topic partition in its order."""
        for name in self.begun:  # A cut is a prefix: it stops at the first incomplete one.
            if len(self.arrived[name]) < self.announced.get(name, 1 << 62):
                break
            self.whole.add(name)
        queues, count = self.waiting.values(), -1
        while count != (count := sum(map(len, queues))):
            for queue in queues:
                while queue and self.ready(queue[0]):
                    self.change(queue.popleft())

    def ready(self, event: Event) -> bool:
        """Whether its transaction is whole and, for a moved large value, the old row is known."""
        moved = event.op == "c" and UNAVAILABLE in event.after.values()
        return event.place[0] in self.whole and (not moved or event.before in self.done)

    def change(self, event: Event) -> None:
        """Apply one event, unless it is a redelivery or superseded."""
        keys, barrier = self.tables[event.table], self.barriers.get(event.table, ())
        stored = keys.get(event.key, Version())
        repeated = event.mark in self.marks
        self.marks.add(event.mark)
        if not repeated and event.op == "t":
            self.truncate(event)
        elif not repeated and event.level >= barrier and self.follows(event, stored):
            self.done[event.place] = stored.row
            position = max(event.position, stored.position)
            keys[event.key] = Version(position, self.image(event, stored.row or {}), event.level)
        self.done.setdefault(event.place, None)

    def follows(self, event: Event, stored: Version) -> bool:
        """Positions decide; for an `r` the commit part alone, and at equal ones the offset."""
        parts = 1 if event.op == "r" else 2
        return event.position[:parts] >= stored.position[:parts]

    def truncate(self, event: Event) -> None:
        """A barrier by position: offsets of several topic partitions have no order."""
        keys = self.tables[event.table]
        self.barriers[event.table] = max(event.level, self.barriers.get(event.table, ()))
        for key, version in keys.items():
            if version.level < event.level:
                keys[key] = version._replace(row=None)

    def image(self, event: Event, stored: Row) -> Row | None:
        """The new row, with large values from the old one, or from the old key's."""
        if event.op == "d":
            return None
        old = (self.done.get(event.before) if event.op == "c" else stored) or {}
        row = {c: old.get(c) if v == UNAVAILABLE else v for c, v in event.after.items()}
        return {column: value for column, value in row.items() if value is not None}
