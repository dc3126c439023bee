"""A table whose primary key changes in the source while nobody writes to it; pure.

Its rows stay in silver as they are, and are named by other columns from then on. That is right
where all that was written under the old key is published, and nothing was written since.
https://debezium.io/documentation/reference/stable/connectors/postgresql.html ("Primary key
changes") says the same of its connector.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from lakehouse.plan.cuts.lag import SourceLag, TableLag


@dataclass(frozen=True, slots=True)
class KeyedTable:
    """A table as its database has it.

    Attributes:
        key: Columns of its primary key; none where it has none.
        writes: Rows that were ever written to it, as the database counts them.
        writers: Transactions that have written to it and are still open.
        unread: Bytes of the log, up to a place of it, that the connector has not confirmed.
    """

    key: tuple[str, ...]
    writes: int
    writers: int
    unread: int


@dataclass(frozen=True, slots=True)
class Drained:
    """A table that was drained, as one step hands it to the next.

    Attributes:
        table: As in the TOML file.
        writes: As in `KeyedTable`; nothing may be written from then on.
        cut: The published cut that has all of it.
    """

    table: str
    writes: int
    cut: str

    def to_json(self) -> str:
        """As one line."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Drained:
        """Read what `to_json` wrote."""
        return Drained(**json.loads(text))


def not_drained(before: KeyedTable, now: KeyedTable, lag: TableLag | None, unseen: str) -> str:
    """What still has to come before a table is drained; empty for nothing.

    Args:
        before: The table when the end of the log was read.
        now: The table, and what of the log up to that end is unread.
        lag: What waits for it; None where no published table reads it.
        unseen: Why Kafka was not read.
    """
    if now.writers or now.writes != before.writes:
        rows = now.writes - before.writes
        return f"it is written to ({rows} rows, {now.writers} open transactions): pause its writers"
    if now.unread > 0:
        return f"the connector has {now.unread} bytes of the log to read"
    if lag is None or unseen:
        return unseen or "no published table has its rows: wait for a run of ingest"
    if lag.held:
        return f"the table is held: {lag.held}"
    return f"{lag.messages} messages wait for a run of ingest" if lag.messages else ""


def lag_of(lag: SourceLag, silver: str) -> TableLag | None:
    """What waits for one silver table."""
    return next((each for each in lag.tables if each.silver == silver), None)


def new_key(key: Iterable[str], columns: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """The columns of silver that identify a row from now on, or why silver cannot follow.

    Args:
        key: Columns of the primary key in the source.
        columns: Silver's columns: name in lower case → name.
    """
    wanted = {name.lower() for name in key}
    lacking = sorted(wanted - columns.keys())
    if not wanted:
        return (), "the source's table has no primary key now: expected one; add it"
    if lacking:
        return (), (
            f"silver has no column {', '.join(map(repr, lacking))}: expected the values of all "
            "rows in it; put the old key back, add and fill the column, and wait until that is "
            "published"
        )
    return tuple(stored for name, stored in columns.items() if name in wanted), ""
