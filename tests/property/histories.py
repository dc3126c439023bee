"""Histories: what a source did, and every message that its connector then put into Kafka.

A history is drawn as numbers and built without chance: a database executes transactions
(`database.py`), its log places them (`logs.py`), the connector reads a source snapshot at some
moment and streams the rest, reads chunks of an incremental snapshot, and restarts from earlier
points (`events.py`, `wire.py`).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

from tests.property.database import OPERATIONS, TABLES, Database, State, Transaction, net_changes
from tests.property.dialects import DIALECTS, Dialect
from tests.property.events import Source
from tests.property.logs import Knobs, Placed
from tests.property.wire import Draft, compact, heartbeat_draft
from tests.support.archives import Message

Tables = dict[tuple[object, ...], dict[tuple[object, ...], dict[str, object]]]
Step = tuple[int, list[int]]
FEATURES = ("", "", "column", "chunk", "chunk", "restart", "restart", "restart")
STEPS = st.lists(
    st.tuples(
        st.integers(0, len(FEATURES) * 16 * 64 - 1),
        st.lists(st.integers(0, OPERATIONS - 1), min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=12,
)
SETTINGS = st.integers(0, 3 * 2 * 2 * 4 - 1)
ARRIVED_MS = 1_770_000_100_000


@dataclass(frozen=True)
class History:
    """Messages in arrival order, and the states that the source had.

    `boundaries` are the source's states after each transaction that the connector sends whole,
    from the source snapshot on; a cut may equal any of them, the end equals the last one.
    """

    connector: str
    messages: tuple[Message, ...]
    boundaries: tuple[Tables, ...]
    snapshot_ends: dict[tuple[str, int], int]  # What is to be landed before a state is whole.
    framed: bool  # Each change belongs to a transaction with BEGIN and END.
    rewritten: frozenset[object]  # Keys with a delete and a create event at one position.

    def _repr_pretty_(self, printer: RepresentationPrinter, _: object) -> None:
        """How Hypothesis shows a falsifying example."""
        lines = "".join(f"\n  {_told(message)}" for message in self.messages)
        printer.text(f"{self.connector}, {len(self.boundaries)} states:{lines[:20_000]}\n")


def histories(connector: str) -> st.SearchStrategy[History]:
    """Histories of one connector's source; they shrink to one insert into one table."""
    return st.builds(partial(build_history, DIALECTS[connector]), STEPS, SETTINGS)


def build_history(dialect: Dialect, steps: Sequence[Step], settings: int) -> History:
    """The history that the numbers stand for."""
    settings, partitions = divmod(settings, 3)
    settings, full = divmod(settings, 2)
    moment, bare = divmod(settings, 2)
    recorder = Recorder(Source(dialect, partitions + 1, bool(full)), bare=bool(bare))
    moment = min(moment, len(steps) - 1) if dialect.metadata else 0
    for _, operations in steps[:moment]:
        recorder.log.place(recorder.database.transact(operations), Knobs())
    recorder.snapshot()
    for step in steps[moment:]:
        recorder.step(*step)
    # Where END comes late, the last one may not have been sent yet.
    boundaries = recorder.states[:-1] if bare and recorder.end else recorder.states
    if recorder.end and not bare:
        recorder.units.append([recorder.end])
    messages, snapshot_ends = _send(recorder)
    truths = tuple(_truth(dialect, state) for state in boundaries)
    rewritten = frozenset(
        (dialect.identity(change.table), (change.before["id"],))
        for transaction in recorder.transactions
        for change in transaction.changes
        if change.kind == "d"
        and change.before
        and transaction.state[change.table].get(change.before["id"])
    )
    return History(dialect.connector, messages, truths, snapshot_ends, recorder.framed, rewritten)


class Recorder:
    """Builds the units that a connector sends one after the other, and can start again from."""

    def __init__(self, source: Source, *, bare: bool) -> None:
        self.source, self.dialect = source, source.dialect
        self.database = Database(self.dialect.truncate)
        self.log = self.dialect.log(bare=bare)
        self.units: list[list[Draft]] = []
        self.restarts: dict[int, tuple[int, int]] = {}  # Unit → drafts sent, unit to go back to.
        self.states: list[State] = []
        self.transactions: list[Transaction] = []
        self.end: Draft | None = None  # Of the last transaction, not sent yet.
        self.framed = self.dialect.metadata
        self.shared = False

    def snapshot(self) -> None:
        """The source snapshot; TiCDC has none and starts with an empty database."""
        state = tuple(dict(rows) for rows in self.database.tables)
        self.states.append(state)
        self.units.append([])
        if self.dialect.metadata:
            self.stand = self.log.snapshot()
            noted = tuple(self.database.noted)
            self.units[0] += self.source.snapshot(state, noted, self.stand)

    def step(self, modifier: int, operations: Sequence[int]) -> None:
        """One transaction, with what the modifier adds."""
        rest, feature = divmod(modifier, len(FEATURES))
        rest, flags = divmod(rest, 16)
        column = FEATURES[feature] == "column" and rest % len(TABLES)
        altered = column is not False and self.database.add_column(column)
        transaction = self.database.transact(operations)
        if not self.dialect.metadata:
            changes = net_changes(transaction, self.states[-1])
            transaction = replace(transaction, changes=changes)
        placed = self.log.place(transaction, self._knobs(transaction, flags, altered=altered))
        chunk = self._chunk(transaction, placed, rest) if FEATURES[feature] == "chunk" else []
        at = _place_of_chunk(transaction, rest)
        drafts = list(self._transaction(transaction, placed, chunk, at))
        if altered and self.dialect.ddl and placed.fields:
            fields = placed.fields[0]
            noted = self.source.schema_change(
                "ALTER", int(column), self.dialect.marker, fields, noted=True
            )
            drafts = noted + drafts
        self.units.append(drafts)
        if FEATURES[feature] == "restart":
            back, sent = divmod(rest, 8)
            unit = len(self.units) - 1
            self.restarts[unit] = (sent, 0 if back == 7 else max(1, unit - back))
        self.states.append(transaction.state)
        self.transactions.append(transaction)
        self.stand = placed.fields[-1] if placed.fields else None

    def _knobs(self, transaction: Transaction, flags: int, *, altered: bool) -> Knobs:
        """Only changes of other rows can overlap: rows and truncated tables are locked."""
        last = self.transactions[-1] if self.transactions else None
        locked = last.keys if last else set()
        truncates = any(change.kind == "t" for change in transaction.changes)
        apart = not (transaction.keys & locked or truncates or altered)
        self.shared = bool(flags & 4 and apart and last and not last.ddl and not self.shared)
        return Knobs(bool(flags & 1 and apart), bool(flags & 2), self.shared, bool(flags & 8))

    def _transaction(
        self, transaction: Transaction, placed: Placed, chunk: list[Draft], at: int
    ) -> Iterator[Draft]:
        framed = self.dialect.metadata and not transaction.ddl
        data = self.source.data(transaction, placed, len(self.transactions))
        data.insert(at, chunk)
        if at == 0:
            yield from data.pop(0)
        if self.end:
            yield self.end
            self.end = None
        if framed:
            begin, end = self.source.bounds(transaction, placed, len(self.transactions))
            yield begin
        for drafts in data:
            yield from drafts
        if framed and self.dialect.late_end:
            self.end = end
        elif framed:
            yield end
        self.framed = self.framed and framed

    def _chunk(self, transaction: Transaction, placed: Placed, rest: int) -> list[Draft]:
        """Read events of one chunk; rows that were changed in its window have none."""
        if not self.dialect.metadata:
            return []
        at = _place_of_chunk(transaction, rest)
        window, other = divmod(rest // 4, 4)
        # Mostly a table that is changed right behind the chunk.
        table = other - 1 if other else transaction.changes[-1].table
        inside = [
            c for t in self.transactions[len(self.transactions) - window % 3 :] for c in t.changes
        ]
        changed = set().union(*(c.keys for c in (*inside, *transaction.changes[:at])))
        stand = placed.fields[at - 1] if at else self.stand
        noted = transaction.noted[table] if at else self._noted(table)
        rows = [r for k, r in self.states[-1][table].items() if (table, k) not in changed]
        return [
            self.source.read(
                table,
                row,
                "incremental",
                self.log.window(stand, placed.fields[0], index),
                noted=noted,
            )
            for index, row in enumerate(rows)
        ]

    def _noted(self, table: int) -> bool:
        return bool(self.transactions and self.transactions[-1].noted[table])


def _place_of_chunk(transaction: Transaction, number: int) -> int:
    """How many changes of the transaction come before the chunk; mostly none."""
    return 0 if transaction.ddl else min(max(0, number % 4 - 1), len(transaction.changes))


def _send(recorder: Recorder) -> tuple[tuple[Message, ...], dict[tuple[str, int], int]]:
    """Send the units, with what the restarts send again."""
    offsets: dict[tuple[str, int], int] = {}
    messages: list[Message] = []
    ends: dict[tuple[str, int], int] | None = None
    for draft, run, unit, first in _arrivals(recorder):
        if unit > 0 and ends is None:
            ends = dict(offsets)
        partition = draft.partition
        if partition is None:
            partition = zlib.crc32((draft.key or "").encode()) % recorder.source.partitions
        offset = offsets.get((draft.topic, partition), 0)
        offsets[draft.topic, partition] = offset + 1
        now_ms = ARRIVED_MS + 10 * len(messages)
        messages.append(
            Message(
                draft.topic,
                partition,
                offset,
                now_ms + 7,
                None if draft.key is None else draft.key.encode(),
                draft.value(now_ms, first=first),
                _headers(recorder.dialect, draft, run),
            )
        )
    return tuple(messages), ends or {}


def _arrivals(recorder: Recorder) -> Iterator[tuple[Draft, int, int, bool]]:
    """Drafts with the run, the unit, and whether PostgreSQL knows no last commit yet."""
    unit, run, first = 0, 1, True
    restarts = dict(recorder.restarts)
    while unit < len(recorder.units):
        sent, back = restarts.pop(unit, (None, unit + 1))
        for draft in recorder.units[unit][:sent]:
            yield draft, run, unit, first
        if sent is not None:
            run += 1
            if recorder.dialect.metadata:
                yield heartbeat_draft(recorder.dialect), run, unit, first
        first = sent is not None or unit == 0
        unit = back


@cache
def _context(connector: str, run: int) -> tuple[tuple[str, bytes], ...]:
    dialect = DIALECTS[connector]
    values = {
        "connectorLogicalName": dialect.prefix,
        "taskId": "0",
        "connectorName": connector,
        "runId": f"6f0c2c0e-8f4c-4e11-9a4e-{run:012d}",
    }
    schema = {"type": "string", "optional": False}
    return tuple(
        (f"__debezium.context.{name}", compact({"schema": schema, "payload": value}).encode())
        for name, value in values.items()
    )


def _headers(dialect: Dialect, draft: Draft, run: int) -> tuple[tuple[str, bytes], ...]:
    if draft.headers is None:
        return ()
    own = tuple((name, text.encode()) for name, text in draft.headers)
    return own + _context(dialect.connector, run)


def _told(message: Message) -> str:
    """A message in one line, for a falsifying example."""
    place = f"{message.topic}[{message.partition}]@{message.offset}"
    if message.value is None:
        return f"{place} tombstone"
    payload = json.loads(message.value)["payload"]
    if "op" not in payload:
        return f"{place} {payload.get('status') or payload.get('ddl')} {payload.get('id', '')}"
    source = payload["source"]
    names = ("snapshot", "sequence", "scn", "commit_scn", "txSeq", "commit_lsn", "change_lsn")
    names += ("event_serial_no", "file", "pos", "row", "commit_ts")
    fields = " ".join(f"{name}={source[name]}" for name in names if source.get(name))
    return f"{place} {payload['op']} {payload.get('after') or payload.get('before')} {fields}"


def _truth(dialect: Dialect, state: State) -> Tables:
    """A state as an applier gives it: without tables that have no rows, without nulls."""
    return {
        dialect.identity(table): {
            (key,): {dialect.name(n): v for n, v in row.items() if v is not None}
            for key, row in rows.items()
        }
        for table, rows in enumerate(state)
        if rows
    }
