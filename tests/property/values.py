"""What the reference keeps, and where events stand in the source's log (`messages.md` §3)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

Name = tuple[object, ...]
Fields = dict[str, Any]  # JSON, as it was parsed.
Numbers = tuple[int, ...]
Position = tuple[Numbers, ...]  # The commit part, then what orders changes inside of a commit.
Row = dict[str, object]  # Without nulls: an absent column is null.


class Version(NamedTuple):
    """What is kept for a key: its position and its row, or None as delete mark.

    `level` is what truncates compare: the position, in PostgreSQL the own LSN. Choice: a position
    with a null `sequence[0]` holds in its topic partition, and a truncate is in another one; own
    LSNs of one table are in order around a truncate, which locks it.
    """

    position: Position = ()
    row: Row | None = None
    level: tuple[object, ...] = ()


class Event(NamedTuple):
    """One change event; `place` is its transaction and total order, `mark` says a redelivery."""

    table: Name
    key: Name
    op: str
    after: Row
    position: Position
    level: tuple[object, ...]
    place: tuple[str | None, int]
    mark: Name

    @property
    def before(self) -> tuple[str | None, int]:
        """The place of the event before it in its transaction."""
        return self.place[0], self.place[1] - 1


def _integers(*values: object) -> tuple[int, ...]:
    """Numbers of any length; nulls, which are always the last ones, then sort first."""
    return tuple(int(str(value)) for value in values if value is not None)


def _hex(*values: str | None) -> tuple[int, ...]:
    return tuple(int(value.replace(":", ""), 16) for value in values if value is not None)


def _lsns(source: Fields) -> Position:
    return tuple(_integers(lsn) for lsn in json.loads(source["sequence"]))


def _binlog(source: Fields) -> Numbers:
    """Choice: each server takes over once, so that the number in its GTIDs' names orders logs."""
    server = re.search(r"([0-9]+)[:-][0-9]+$", source["gtid"] or "")
    log = int(server[1]) if server else 0
    return log, *_integers(source["file"].rpartition(".")[2], source["pos"])


POSITIONS: dict[str, Callable[[Fields], Position]] = {
    "db2": lambda s: (_hex(s["commit_lsn"]), _hex(s["change_lsn"])),
    "mariadb": lambda s: (_binlog(s), ()),
    "mysql": lambda s: (_binlog(s), _integers(s["row"])),
    "oracle": lambda s: ((max(_integers(s["scn"], s["commit_scn"])),), _integers(s["txSeq"])),
    "postgresql": _lsns,
    "sqlserver": lambda s: (
        _hex(s["commit_lsn"]),
        _hex(s["change_lsn"]) + _integers(s["event_serial_no"]),
    ),
    "ticdc": lambda s: (_integers(s["commit_ts"]), ()),
}

# What truncates compare, where it is not the position.
LEVELS: dict[str, Callable[[Fields], tuple[int, ...]]] = {
    "postgresql": lambda s: _lsns(s)[1],
}


def key_of(text: bytes | None) -> Name:
    """The values of an event key."""
    document = json.loads(text or b"{}")
    return tuple(document.get("payload", document).values())
