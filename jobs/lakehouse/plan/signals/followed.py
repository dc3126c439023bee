"""What became of a signal: each table that it asked for, and how its reading ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakehouse.plan.signals.request import Action, SnapshotType

SUCCEEDED, EMPTY = "SUCCEEDED", "EMPTY"
STOPPED, NOT_TAKEN, NOT_READ, ABORTED = "STOPPED", "NOT_TAKEN", "NOT_READ", "ABORTED"
_WHY = {
    SUCCEEDED: "read",
    EMPTY: "no row to read: it is empty, or no row fits the condition",
    STOPPED: "stopped before it was read",
    NOT_TAKEN: "not taken by the connector: expected a table that it captures, by this name",
    NOT_READ: "not read, though the snapshot ended: expected a table that it captures",
    "NO_PRIMARY_KEY": "skipped: it has no key; name a surrogate key, or take a blocking snapshot",
    "SKIPPED": "skipped: its kind cannot be read incrementally; the connector's log says why",
    "SQL_EXCEPTION": "failed: its database refused the query; the connector's log says why. A "
    "condition on a column that is not there, or a schema change meanwhile, does that",
    "UNKNOWN_SCHEMA": "skipped: the connector finds no such table in its database",
    ABORTED: "aborted by the connector; its log says why",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is followed.

    Attributes:
        signal_id: That of the signal.
        collections: Identifiers of its tables; empty for all of a snapshot.
    """

    action: Action
    signal_id: str
    type: SnapshotType = SnapshotType.INCREMENTAL
    collections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableProgress:
    """How far one table is read.

    Attributes:
        status: How its reading ended; empty while it goes on.
        rows: How many rows were read; None where nobody says.
        chunks: How many chunks were read so far.
    """

    status: str = ""
    rows: int | None = None
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class Followed:
    """What became of a signal so far.

    Attributes:
        tables: Of a snapshot: each table that was asked for.
        is_seen: Whether the connector has taken the signal.
        is_paused: Whether a person has let it pause.
        ended_ms: When it ended; None while it goes on.
    """

    asked: Asked
    tables: Mapping[str, TableProgress] = field(default_factory=dict)
    is_seen: bool = False
    is_paused: bool = False
    ended_ms: int | None = None

    @property
    def failures(self) -> tuple[str, ...]:
        """Of each table that was not read whole, why."""
        return tuple(
            of_table(name, table)
            for name, table in self.tables.items()
            if table.status not in ("", SUCCEEDED, EMPTY)
        )

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return sum(table.rows or 0 for table in self.tables.values())

    def sentences(self) -> tuple[str, ...]:
        """Where it stands, for a person."""
        if not self.is_seen:
            return (f"signal {self.asked.signal_id}: the connector has not answered yet",)
        return tuple(of_table(name, table) for name, table in self.tables.items())


def of_table(name: str, table: TableProgress) -> str:
    """How far a table is, for a person."""
    rows = "" if table.rows is None else f", {table.rows} rows"
    if table.status:
        return f"{name}: {_WHY.get(table.status, table.status)}{rows}"
    return f"{name}: chunk {table.chunks}" if table.chunks else f"{name}: not begun"
