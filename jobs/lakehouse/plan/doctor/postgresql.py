"""A PostgreSQL database as its catalog describes it → findings.

https://www.postgresql.org/docs/current/view-pg-replication-slots.html,
https://www.postgresql.org/docs/current/sql-altertable.html (REPLICA IDENTITY).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lakehouse.plan.doctor.findings import Finding, Level, Promise

_GIB = 2**30
_IDENTITIES = {"d": "default", "n": "nothing", "f": "full", "i": "an index"}


@dataclass(frozen=True, slots=True)
class Slot:
    """A replication slot.

    Attributes:
        status: `wal_status`: reserved, extended, unreserved or lost.
        behind: Bytes of WAL that it keeps.
    """

    name: str
    active: bool
    status: str | None
    behind: int


@dataclass(frozen=True, slots=True)
class Publication:
    """A publication; `operations` are those that it sends, of insert, update, delete, truncate."""

    name: str
    operations: frozenset[str]
    filtered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """A captured table.

    Attributes:
        identity: `relreplident`: d, n, f or i.
        published: Whether the connector's publication has it.
    """

    schema: str
    name: str
    identity: str
    has_key: bool
    logged: bool = True
    published: bool = True


@dataclass(frozen=True, slots=True)
class PostgresFacts:
    """What a PostgreSQL server says of a connector's slot, publication and tables.

    Attributes:
        slot: None where there is none of that name.
        publication: None where there is none of that name.
    """

    wal_level: str
    slot_name: str
    slot: Slot | None
    publication_name: str
    publication: Publication | None
    tables: tuple[PostgresTable, ...]


def judge_postgresql(facts: PostgresFacts) -> tuple[Finding, ...]:
    """What in a PostgreSQL database breaks a promise."""
    found = [*_wal(facts), *_slot(facts), *_publication(facts)]
    for table in facts.tables:
        found += _table(table)
    return tuple(found)


def _wal(facts: PostgresFacts) -> Iterator[Finding]:
    if facts.wal_level != "logical":
        yield Finding(
            Level.BREAKS,
            "database",
            "wal_level",
            repr(facts.wal_level),
            "'logical'",
            Promise.NO_LOSS,
            "No change can be read from the log.",
            "ALTER SYSTEM SET wal_level = 'logical' and restart the server",
        )


def _slot(facts: PostgresFacts) -> Iterator[Finding]:
    subject, slot = f"slot {facts.slot_name}", facts.slot
    snapshot = "let the connector make a new slot, then take a snapshot of every table"
    if slot is None:
        yield Finding(
            Level.BREAKS,
            subject,
            "the replication slot",
            "not there",
            "a slot",
            Promise.NO_LOSS,
            "Nothing keeps the log: what changes from now on is lost.",
            snapshot,
        )
        return
    if slot.status == "lost":
        yield Finding(
            Level.BREAKS,
            subject,
            "wal_status",
            "'lost'",
            "'reserved'",
            Promise.NO_LOSS,
            "The server has removed the log that the connector had not read.",
            f"drop the slot, {snapshot}",
        )
    elif slot.status == "unreserved":
        yield Finding(
            Level.WARNING,
            subject,
            "wal_status",
            "'unreserved'",
            "'reserved'",
            Promise.NO_LOSS,
            "The next checkpoint removes log that the connector has not read.",
            "let the connector catch up now; raise max_slot_wal_keep_size",
        )
    if not slot.active:
        yield Finding(
            Level.WARNING,
            subject,
            "active",
            "false",
            "true",
            Promise.NO_LOSS,
            "No connector reads it, and the server keeps its log until the disk is full.",
            "start the connector, or drop the slot if nobody needs it",
        )
    elif slot.behind > _GIB:
        yield Finding(
            Level.WARNING,
            subject,
            "log that it keeps",
            f"{slot.behind / _GIB:.1f} GiB",
            "less than 1 GiB",
            Promise.NO_LOSS,
            "The connector is far behind, or its tables are quiet and nothing moves the slot on.",
            "look at the connector's lag; set heartbeat.interval.ms and heartbeat.action.query",
        )


def _publication(facts: PostgresFacts) -> Iterator[Finding]:
    subject, found = f"publication {facts.publication_name}", facts.publication
    if found is None:
        yield Finding(
            Level.BREAKS,
            subject,
            "the publication",
            "not there",
            "a publication",
            Promise.NO_LOSS,
            "No change of any table is sent.",
            f"CREATE PUBLICATION {facts.publication_name} FOR TABLE … (the captured tables)",
        )
        return
    missing = {"insert", "update", "delete", "truncate"} - found.operations
    if missing:
        yield Finding(
            Level.BREAKS,
            subject,
            "publish",
            repr(", ".join(sorted(found.operations))),
            "'insert, update, delete, truncate'",
            Promise.EQUALS,
            f"{', '.join(sorted(missing))} is not sent.",
            f"ALTER PUBLICATION {found.name} SET (publish = 'insert, update, delete, truncate')",
        )
    for table in found.filtered:
        yield Finding(
            Level.WARNING,
            f"table {table}",
            "row filter or column list",
            "set",
            "none",
            Promise.EQUALS,
            "Rows or columns that the filter leaves out are not sent.",
            f"ALTER PUBLICATION {found.name} SET TABLE … without WHERE and columns",
        )


def _table(table: PostgresTable) -> Iterator[Finding]:
    name = f"{table.schema}.{table.name}"
    subject = f"table {name}"
    identity = _IDENTITIES.get(table.identity, table.identity)
    if not table.published:
        yield Finding(
            Level.BREAKS,
            subject,
            "the publication",
            "without this table",
            "with it",
            Promise.EQUALS,
            "Its snapshot arrives and no change after it.",
            f"ALTER PUBLICATION … ADD TABLE {name}, then a snapshot of it",
        )
    if not table.logged:
        yield Finding(
            Level.BREAKS,
            subject,
            "persistence",
            "unlogged",
            "logged",
            Promise.EQUALS,
            "Its changes are not in the log.",
            f"ALTER TABLE {name} SET LOGGED",
        )
    if table.identity == "f" or (table.identity == "d" and table.has_key):
        return
    yield Finding(
        Level.BREAKS,
        subject,
        "replica identity",
        repr(identity),
        "'default'" if table.has_key else "'full'",
        Promise.EQUALS,
        "Updates and deletes do not say which row they mean.",
        f"ALTER TABLE {name} REPLICA IDENTITY {'DEFAULT' if table.has_key else 'FULL'}",
    )
