"""Where each connector's events stand in the source's log, from `messages.md` §3 alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

Position = tuple[tuple, ...]  # The commit part, then what orders changes inside of a commit.


def _integers(*values: object) -> tuple[int, ...]:
    """Numbers of any length; nulls, which are always the last ones, then sort first."""
    return tuple(int(str(value)) for value in values if value is not None)


def _hex(*values: str | None) -> tuple[int, ...]:
    return tuple(int(value.replace(":", ""), 16) for value in values if value is not None)


def _lsns(source: Mapping) -> Position:
    return tuple(_integers(lsn) for lsn in json.loads(source["sequence"]))


POSITIONS: dict[str, Callable[[Mapping], Position]] = {
    "db2": lambda s: (_hex(s["commit_lsn"]), _hex(s["change_lsn"])),
    "mariadb": lambda s: (_integers(s["file"].rpartition(".")[2], s["pos"]), ()),
    "mysql": lambda s: (_integers(s["file"].rpartition(".")[2], s["pos"]), _integers(s["row"])),
    "oracle": lambda s: ((max(_integers(s["scn"], s["commit_scn"])),), _integers(s["txSeq"])),
    "postgresql": _lsns,
    "sqlserver": lambda s: (
        _hex(s["commit_lsn"]),
        _hex(s["change_lsn"]) + _integers(s["event_serial_no"]),
    ),
    "ticdc": lambda s: (_integers(s["commit_ts"]), ()),
}

# What truncates compare, where it is not the position.
LEVELS: dict[str, Callable[[Mapping], tuple[int, ...]]] = {
    "postgresql": lambda s: _lsns(s)[1],
}
