"""The logs of the seven databases: which position fields each connector gives a change.

The formats are those of `messages.md` §2 and §3 and of the captures; numbers start where one more
digit is near, so that an order of text shows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tests.property.database import Change, Transaction

Fields = dict[str, object]


@dataclass(frozen=True, slots=True)
class Knobs:
    """How a log lays one transaction out, drawn."""

    overlap: bool = False  # Its first changes were written before the last commit.
    group: bool = False  # Its changes share what a statement shares.
    share: bool = False  # It shares the commit SCN of the last one.
    rotate: bool = False  # It begins a new binlog file.
    moved: bool = False  # Another server has taken over; its positions are lower.


@dataclass(frozen=True, slots=True)
class Placed:
    """A transaction in the log: ids of BEGIN, of each change and of END, fields of each change."""

    begin: str
    end: str
    ids: tuple[str, ...]
    fields: tuple[Fields, ...]


class Log:
    """A log that only moves forward; `bare` leaves out what older versions did not send."""

    moves = False  # Whether another server may take over.

    def __init__(self, *, bare: bool = False) -> None:
        self.bare = bare
        self.number = 0

    def snapshot(self) -> Fields:
        """The fields of a source snapshot's rows."""
        raise NotImplementedError

    def place(self, transaction: Transaction, knobs: Knobs) -> Placed:
        """The fields of one more transaction."""
        raise NotImplementedError

    def window(self, fields: Fields, _following: Fields | None, _index: int) -> Fields:
        """The fields of an incremental `r`, from where the connector stands."""
        return fields


class PostgresLog(Log):
    """WAL: transactions come in commit order, their changes may be older than the last commit."""

    def __init__(self, *, bare: bool = False) -> None:
        super().__init__(bare=bare)
        self.commit = self.mark = 96_500
        self.transaction = 700

    def snapshot(self) -> Fields:
        self.mark += 300
        return self._fields(None, self.mark)

    def place(self, transaction: Transaction, knobs: Knobs) -> Placed:
        self.transaction += 1
        first = self.mark - 100 if knobs.overlap else self.mark + 10
        lsns = [first + 10 * index for index in range(len(transaction.changes))]
        fields = tuple(self._fields(self.commit, lsn) for lsn in lsns)
        self.commit = self.mark = self.mark + 1000
        ids = tuple(f"{self.transaction}:{lsn}" for lsn in lsns)
        return Placed(
            f"{self.transaction}:{first}", f"{self.transaction}:{self.commit}", ids, fields
        )

    def window(self, fields: Fields, following: Fields | None, _index: int) -> Fields:
        """Null are txId and lsn; the last commit is the one that the next events have."""
        commit = json.loads(str(following["sequence"]))[0] if following else str(self.commit)
        stand = json.loads(str(fields["sequence"]))
        # Behind a transaction it stands at its commit, else at the last event of this one.
        lsn = stand[1] if stand[0] in (commit, None) else commit
        return {"txId": None, "lsn": None, "xmin": None, "sequence": _sequence(commit, lsn)}

    def _fields(self, commit: int | None, lsn: int) -> Fields:
        text = None if commit is None else str(commit)
        sequence = _sequence(text, str(lsn))
        return {"txId": self.transaction, "lsn": lsn, "xmin": None, "sequence": sequence}


class OracleLog(Log):
    """Redo: a change has its own SCN, which may be below the last commit's."""

    def __init__(self, *, bare: bool = False) -> None:
        super().__init__(bare=bare)
        self.scn = 9_999_700
        self.last: Fields = _oracle(None, None, None, None)

    def snapshot(self) -> Fields:
        self.scn += 10
        return _oracle(str(self.scn), None, None, None)

    def place(self, transaction: Transaction, knobs: Knobs) -> Placed:
        self.number += 1
        if transaction.ddl:  # Commit SCN and id are left over from what was dispatched last.
            self.scn += 20
            left_over = self.last | {"scn": str(self.scn), "txSeq": None}
            return Placed("", "", ("",), (left_over,))
        commit = self.scn if knobs.share else self.scn + 100
        first = self.scn - 50 if knobs.overlap or knobs.share else self.scn + 10
        name = f"{self.number:04x}1f00{self.number:08x}"
        fields = tuple(
            _oracle(str(first + index), str(commit), name, None if self.bare else index + 1)
            for index, _ in enumerate(transaction.changes)
        )
        self.scn, self.last = commit, fields[-1]
        return Placed(name, name, (name,) * len(fields), fields)


class Db2Log(Log):
    """Commit and change LSN, 16 bytes as text."""

    def snapshot(self) -> Fields:
        self.number += 7
        return {"change_lsn": None, "commit_lsn": self.lsn(0)}

    def place(self, transaction: Transaction, knobs: Knobs) -> Placed:
        self.number += 10
        fields = tuple(self.changes(transaction.changes, knobs))
        commit = self.lsn(0xFF)
        return Placed(commit, commit, (commit,) * len(fields), fields)

    def changes(self, changes: Sequence[Change], _: Knobs) -> list[Fields]:
        """The fields of each change inside of the commit."""
        commit = self.lsn(0xFF)
        return [
            {"change_lsn": self.lsn(index + 1), "commit_lsn": commit}
            for index, _ in enumerate(changes)
        ]

    def lsn(self, part: int) -> str:
        """An LSN of the current transaction."""
        return f"00000000:00000000:{self.number:014x}{part:02x}"


class SqlServerLog(Db2Log):
    """10 bytes as text, and a number that counts where several changes have one LSN."""

    def snapshot(self) -> Fields:
        return super().snapshot() | {"event_serial_no": None}

    def changes(self, changes: Sequence[Change], knobs: Knobs) -> list[Fields]:
        found: list[Fields] = []
        serial, lsn = 0, ""
        for index, change in enumerate(changes):
            if not knobs.group or not lsn:
                serial, lsn = 0, self.lsn(index + 1)
            serial += 2 if change.kind in "uk" else 1  # An update has two images.
            lsns: Fields = {"change_lsn": lsn, "commit_lsn": self.lsn(0xFF)}
            found.append(lsns | {"event_serial_no": serial})
        return found

    def window(self, fields: Fields, _following: Fields | None, index: int) -> Fields:
        """The serial number goes on counting, as in the captures."""
        serial = int(str(fields["event_serial_no"] or 0))
        return fields | {"event_serial_no": serial + index + 1}

    def lsn(self, part: int) -> str:
        return f"00000000:{self.number:08x}:{part:04x}"


def _sequence(commit: str | None, lsn: str) -> str:
    return json.dumps([commit, lsn], separators=(",", ":"))


def _oracle(scn: str | None, commit: str | None, name: str | None, order: int | None) -> Fields:
    streamed = commit is not None
    return {
        "txId": name,
        "scn": scn,
        "commit_scn": commit,
        "lcr_position": None,
        "rs_id": f" 0x{int(scn or 0):06x}.00000001.0010 " if streamed else None,
        "ssn": 0,
        "redo_thread": 1 if streamed else None,
        "user_name": "APP" if streamed else None,
        "redo_sql": None,
        "row_id": None,
        "commit_ts_ms": 1_770_000_001_000 if streamed else None,
        "start_scn": scn if streamed else None,
        "start_ts_ms": 1_770_000_000_950 if streamed else None,
        "txSeq": order,
    }
