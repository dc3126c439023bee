"""Histories: what a source did, and every message that its connector then put into Kafka.

A history is drawn as numbers and built without chance: a database executes transactions
(`database.py`), its log places them (`logs.py`), the connector reads a source snapshot at some
moment and streams the rest, reads chunks of an incremental snapshot, and restarts from earlier
points (`events.py`, `wire.py`). Several lives may share one database, log and connector: a pack.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

from tests.property.database import OPERATIONS, SPAN, State, each_change
from tests.property.dialects import DIALECTS, Dialect
from tests.property.events import Source
from tests.property.recorder import MODIFIERS, Recorder
from tests.property.sending import Place, send
from tests.support.archives import Message

Tables = dict[tuple[object, ...], dict[tuple[object, ...], dict[str, object]]]
Step = tuple[int, list[int]]
STEPS = st.lists(
    st.tuples(
        st.integers(0, MODIFIERS - 1),
        st.lists(st.integers(0, OPERATIONS - 1), min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=12,
)
# Partitions, images, bare, moment, rows, transaction metadata.
SETTINGS = st.integers(0, 3 * 2 * 2 * 4 * 4 * 2 - 1)

# Of a pack of many lives, how many restart the connector; the others are sent again by those. Each
# restart sends much of the pack again: with fifteen of sixty nine in ten messages were redelivered.
_MANY, _RESTARTING = 30, 6


@dataclass(frozen=True)
class History:
    """Messages in arrival order, and the states that the source had.

    `boundaries` are the source's states after each transaction that the connector sends whole,
    from the source snapshot on; a cut may equal any of them, the end equals the last one.
    """

    connector: str
    messages: tuple[Message, ...]
    boundaries: tuple[Tables, ...]
    snapshot_ends: dict[Place, int]  # What is to be landed before a state is whole.
    known: bool  # Every row was read or streamed from the start, so that each cut is a state.
    plain: bool  # It has no transactions; each change is a state.
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
    return build_pack(dialect, [steps], settings).whole


@dataclass(frozen=True)
class Pack:
    """Lives of one database: what happened to all rows, and to those of each life alone."""

    whole: History
    lives: tuple[History, ...]


def build_pack(dialect: Dialect, lives: Sequence[Sequence[Step]], settings: int) -> Pack:
    """The lives that the numbers stand for; they take turns, a transaction each."""
    turns = [
        (life, step)
        for number in range(max(map(len, lives)))
        for life, steps in enumerate(lives)
        for step in steps[number : number + 1]
    ]
    settings, partitions = divmod(settings, 3)
    settings, full = divmod(settings, 2)
    settings, bare = divmod(settings, 2)
    settings, moment = divmod(settings, 4)
    plain, unread = divmod(settings, 4)
    plain = bool(plain and dialect.metadata and dialect.orders)
    known, moment = unread < 3 or not dialect.metadata, moment * dialect.metadata
    moment = min(moment * len(lives), len(turns) - 1)
    source = Source(dialect, partitions + 1, bool(full), dialect.metadata and not plain)
    # Without total order Oracle needs `txSeq`, which older versions lack.
    recorder = Recorder(source, bare=bool(bare) and not plain)
    recorder.snapshot([(life, step[1]) for life, step in turns[:moment]], rows=known)
    # One restart sends again what every life has done since.
    apart = len(lives) // _RESTARTING if len(lives) > _MANY else 1
    for life, (modifier, operations) in turns[moment:]:
        recorder.step(modifier, operations, life, restarts=life % apart == 0)
    if not known:
        recorder.read_all()
    elif not recorder.log.bare:
        recorder.close()
    messages, ends = send(recorder)
    # Where END comes late, the last one may not have been sent yet.
    states = recorder.states[:-1] if recorder.end else recorder.states
    if plain:
        states = list(each_change(recorder.states[0], recorder.transactions))
    whole = History(
        dialect.connector,
        messages,
        tuple(_truth(dialect, state) for state in states),
        ends,
        known,
        plain,
        recorder.framed,
        _rewritten(recorder),
    )
    alone = zip(*(by_life(state, len(lives)) for state in whole.boundaries), strict=True)
    return Pack(whole, tuple(replace(whole, boundaries=states) for states in alone))


def by_life(state: Tables, lives: int) -> list[Tables]:
    """The rows of each life; tables without any are left out."""
    found: list[Tables] = [{} for _ in range(lives)]
    for table, rows in state.items():
        for key, row in rows.items():
            found[int(str(key[0])) // SPAN].setdefault(table, {})[key] = row
    return found


def _rewritten(recorder: Recorder) -> frozenset[object]:
    return frozenset(
        (recorder.dialect.identity(change.table), (change.before["id"],))
        for transaction in recorder.transactions
        for change in transaction.changes
        if change.kind == "d"
        and change.before
        and change.before["id"] in transaction.state[change.table]
    )


def _told(message: Message) -> str:
    """A message in one line, for a falsifying example."""
    place = f"{message.topic}[{message.partition}]@{message.offset}"
    if message.value is None:
        return f"{place} tombstone"
    payload = json.loads(message.value)["payload"]
    if "op" not in payload:
        return f"{place} {payload.get('status') or payload.get('ddl')} {payload.get('id', '')}"
    source = payload["source"]
    names: tuple[str, ...] = (
        "snapshot",
        "sequence",
        "scn",
        "commit_scn",
        "txSeq",
        "commit_lsn",
        "change_lsn",
    )
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
