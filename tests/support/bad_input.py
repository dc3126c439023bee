"""Sources of many tables, each with one bad input between two good rows.

A case is one table: a create of row 1, what the case sends, a create of row 3. Nothing here is the
project's own code but the run itself.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.support.archives import Message

GONE = object()
ROW = Mapping[str, object]
Pair = tuple[bytes | None, bytes | None]
ID = {"type": "int32", "optional": False, "field": "id"}


def optional(name: str, kind: str, **more: object) -> ROW:
    """A field of a row's schema."""
    return {"type": kind, "optional": True, "field": name, **more}


TEXT = optional("v", "string")


@dataclass
class Event:
    """A change event before it becomes bytes; `raw` takes the place of the text `@@`."""

    key: dict[str, object] | None
    value: dict[str, object]
    raw: str | None = None

    @property
    def payload(self) -> dict[str, object]:
        return self.value["payload"]

    @property
    def text(self) -> str:
        text = json.dumps(self.value, separators=(",", ":"), ensure_ascii=False)
        return text if self.raw is None else text.replace('"@@"', self.raw)

    @property
    def key_bytes(self) -> bytes | None:
        return None if self.key is None else json.dumps({"payload": self.key}).encode()


Edit = Callable[[Event], Sequence[Pair]]


@dataclass(frozen=True)
class Case:
    """One table and what is wrong in it.

    Attributes:
        edit: From a good create of row 2 to the messages that are sent in its place.
        reason: Why the last of them is quarantined; empty where it is not.
        detail: What the quarantine's detail says, or the finding of the run.
        more: What its other findings about the table say, in order.
        rows: The rows that are there in the end, by id.
        hold: What the reason to hold the table says; empty where it is not held.
        stored: Value of `v` in row 2; GONE where nobody asks.
        column: The column `v`.
        columns: More columns.
        key: Columns of the event key.
        table: Name of the source table; empty for the case's own name.
    """

    edit: Edit
    reason: str = ""
    detail: str = ""
    rows: tuple[int, ...] = (1, 3)
    hold: str = ""
    stored: object = GONE
    more: tuple[str, ...] = ()
    column: ROW = field(default_factory=lambda: TEXT)
    columns: tuple[ROW, ...] = ()
    key: tuple[str, ...] = ("id",)
    table: str = ""


def good(event: Event) -> list[Pair]:
    """The event as it is."""
    return [(event.key_bytes, event.text.encode())]


def text(change: Callable[[str], str | bytes | None]) -> Edit:
    """The value's text changed."""

    def edit(event: Event) -> list[Pair]:
        found = change(event.text)
        return [(event.key_bytes, found.encode() if isinstance(found, str) else found)]

    return edit


def _members(event: Event, where: str, changes: Mapping[str, object]) -> list[Pair]:
    place = event.payload if where == "payload" else event.payload[where]
    for name, value in changes.items():
        if value is GONE:
            place.pop(name, None)
        else:
            place[name] = value
    return good(event)


def payload(**changes: object) -> Edit:
    """Members of the payload changed, or taken away."""
    return lambda event: _members(event, "payload", changes)


def source(**changes: object) -> Edit:
    """Members of the source block changed, or taken away."""
    return lambda event: _members(event, "source", changes)


def after(**changes: object) -> Edit:
    """Columns of the row image changed, or taken away."""
    return lambda event: _members(event, "after", changes)


def token(raw: str) -> Edit:
    """The column `v` with a JSON token of its own."""
    return lambda event: (
        good(replace(event, raw=raw)) if _members(event, "after", {"v": "@@"}) else []
    )


def key(given: bytes | None) -> Edit:
    """Another message key."""
    return lambda event: [(given, event.text.encode())]


def change(op: str, before: ROW | None, row: ROW | None, **members: object) -> Edit:
    """Another operation."""

    def edit(event: Event) -> list[Pair]:
        event.payload.update(op=op, before=before, after=row, **members)
        return good(event)

    return edit


def fields(*columns: ROW, **row: object) -> Edit:
    """A create with another schema."""

    def edit(event: Event) -> list[Pair]:
        event.value["schema"] = envelope_schema(columns)
        event.payload["after"] = row
        return good(event)

    return edit


def schema(given: object) -> Edit:
    """Another schema member."""

    def edit(event: Event) -> list[Pair]:
        event.value["schema"] = given
        return good(event)

    return edit


def envelope_schema(columns: Sequence[ROW]) -> dict[str, object]:
    images = [
        {"type": "struct", "fields": list(columns), "optional": True, "field": name}
        for name in ("before", "after")
    ]
    return {"type": "struct", "fields": images, "optional": False, "name": "Envelope"}


@dataclass
class Dialect:
    """How one connector names a table and a place in its log.

    Attributes:
        source: Table and place → source block.
        topic: Prefix and table → topic.
    """

    connector: str
    source: Callable[[str, str, int], dict[str, object]]
    topic: Callable[[str, str], str]
    toml: str = ""


def messages(dialect: Dialect, prefix: str, cases: Mapping[str, Case]) -> dict[str, list[Message]]:
    """The messages of each case, by its name."""
    return {
        name: _sent(dialect, prefix, case.table or name, case, 1000 * number)
        for number, (name, case) in enumerate(sorted(cases.items()), 1)
    }


def _sent(dialect: Dialect, prefix: str, table: str, case: Case, at: int) -> list[Message]:
    pairs: list[Pair] = []
    for row in (1, 2, 3):
        event = _create(dialect, prefix, table, case, at + 10 * row, row)
        pairs += case.edit(copy.deepcopy(event)) if row == 2 else good(event)
    topic = re.sub(r"[^A-Za-z0-9._-]", "_", dialect.topic(prefix, table))
    return [
        Message(topic, 0, offset, 1_770_000_000_000 + at + offset, key_bytes, value)
        for offset, (key_bytes, value) in enumerate(pairs)
    ]


def _create(dialect: Dialect, prefix: str, table: str, case: Case, place: int, row: int) -> Event:
    columns = (ID, case.column, *case.columns)
    image = {column["field"]: None for column in columns} | {"id": row}
    value = {
        "schema": envelope_schema(columns),
        "payload": {
            "before": None,
            "after": image,
            "source": dialect.source(prefix, table, place),
            "op": "c",
            "ts_ms": 1_770_000_000_000,
            "transaction": None,
        },
    }
    return Event({name: image[name] for name in case.key} or None, value)
