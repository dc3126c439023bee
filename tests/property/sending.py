"""From units of drafts to messages in arrival order, with what restarts send again."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache

from tests.property.control import heartbeat_draft
from tests.property.dialects import DIALECTS, Dialect
from tests.property.recorder import Recorder
from tests.property.wire import Draft, compact
from tests.support.archives import Message

ARRIVED_MS = 1_770_000_100_000
Place = tuple[str, int]


def send(recorder: Recorder) -> tuple[tuple[Message, ...], dict[Place, int]]:
    """All messages, and the offsets of each topic partition behind the source snapshot."""
    offsets: dict[Place, int] = {}
    messages: list[Message] = []
    ends: dict[Place, int] | None = None
    for draft, run, unit, first in _arrivals(recorder):
        if unit > 0 and ends is None:
            ends = dict(offsets)
        place = draft.topic, _partition(draft, recorder.source.partitions)
        offset = offsets.get(place, 0)
        offsets[place] = offset + 1
        now_ms = ARRIVED_MS + 10 * len(messages)
        value = draft.value(now_ms, first=first)
        key = None if draft.key is None else draft.key.encode()
        headers = _headers(recorder.dialect, draft, run)
        messages.append(Message(*place, offset, now_ms + 7, key, value, headers))
    return tuple(messages), ends or {}


def _partition(draft: Draft, partitions: int) -> int:
    if draft.partition is not None:
        return draft.partition
    return zlib.crc32((draft.key or "").encode()) % partitions


def _arrivals(recorder: Recorder) -> Iterator[tuple[Draft, int, int, bool]]:
    """Drafts with the run, the unit, and whether PostgreSQL knows no last commit yet."""
    unit, run, first = 0, 1, True
    restarts, partitions = dict(recorder.restarts), recorder.source.partitions
    while unit < len(recorder.units):
        restart = restarts.pop(unit, None)
        if restart is None:
            yield from ((draft, run, unit, first) for draft in recorder.units[unit])
            first, unit = unit == 0, unit + 1
            continue
        for draft in recorder.units[unit][: restart.sent]:
            if restart.lost is None or restart.lost != _partition(draft, partitions):
                yield draft, run, unit, first
        run += 1
        if recorder.dialect.metadata:
            yield heartbeat_draft(recorder.dialect), run, unit, first
        first, unit = True, restart.back


@cache
def _context(connector: str, run: int) -> tuple[tuple[str, bytes], ...]:
    values = {
        "connectorLogicalName": DIALECTS[connector].prefix,
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
