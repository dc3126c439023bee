"""Which tables wait for a person, at which change.

In: rows of `quality.schema_versions`. Out: for each table that is held the version at which it
stops, and the statements that wait.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity, format_table
from lakehouse.plan.records import HOLD, SchemaVersionRow
from lakehouse.plan.schemas.incarnations import Incarnations, Parts
from lakehouse.quality.schemas.column_lives import placed
from lakehouse.quality.schemas.statements import Told, incarnations, told
from lakehouse.quality.schemas.versions import FOLLOWED, newest_versions

# The parts of a table's name of today, and which incarnation of it.
Life = tuple[Parts, int]


@dataclass(slots=True)
class Held:
    """Where one table is held.

    Attributes:
        statements: What was told and waits, oldest first.
        version: The version of data events at which it stops; None before one has come.
        before: The version that silver has followed last.
        told: What the table's statements told.
    """

    statements: list[SchemaVersionRow] = field(default_factory=list)
    version: SchemaVersionRow | None = None
    before: SchemaVersionRow | None = None
    told: Told = field(default_factory=Told)

    @property
    def waiting(self) -> tuple[SchemaVersionRow, ...]:
        """All that a person decides about."""
        return (*self.statements, *((self.version,) if self.version else ()))


def held_tables(rows: Sequence[SchemaVersionRow], connector: str) -> dict[Life, Held]:
    """Every table that waits.

    Args:
        rows: Oldest first.
        connector: Of the source.
    """
    lives = incarnations(rows, connector)
    by_statement = told(rows, connector, lives)
    found: dict[Life, Held] = {}
    for life, mine in _versions(rows, connector, lives).items():
        held = [row for row in mine if row.verdict == HOLD]
        followed = [row for row in mine if row.verdict in FOLLOWED]
        found[life] = Held(
            version=held[-1] if held else None, before=followed[-1] if followed else None
        )
    for row in placed(rows):
        if row.is_from_ddl and row.verdict == HOLD:
            life = lives.at(row.source_table.parts(connector), row.position)
            entry = found.setdefault(life, Held())
            # Where a newer version is followed, another mode has let the table go on.
            if entry.before is None or row.position >= entry.before.position:
                entry.statements.append(row)
    for life, entry in found.items():
        entry.told = by_statement.get(life, Told())
    return {life: entry for life, entry in found.items() if entry.waiting}


def held_names(rows: Sequence[SchemaVersionRow], connector: str) -> tuple[str, ...]:
    """The tables that wait, as TOML files write them."""
    return tuple(sorted({name_of(life, connector) for life in held_tables(rows, connector)}))


def name_of(life: Life, connector: str) -> str:
    """The table as TOML files write it."""
    identity = TableIdentity.of_parts(life[0], CONNECTORS[connector].identity_parts)
    return format_table(identity, connector)


def approve_command(source: str, identity: TableIdentity, connector: str) -> str:
    """The command that releases a table."""
    table = shlex.quote(format_table(identity, connector))
    return f"lakehouse approve --source {source} --table {table}"


def _versions(
    rows: Sequence[SchemaVersionRow], connector: str, lives: Incarnations
) -> dict[Life, list[SchemaVersionRow]]:
    """The newest row of each version of data events, oldest version first."""
    found: dict[Life, list[SchemaVersionRow]] = {}
    for row in rows:
        if not row.is_from_ddl:
            table = lives.today(row.source_table, connector)
            found.setdefault((table.parts(connector), table.incarnation), []).append(row)
    return {life: [*newest_versions(mine).values()] for life, mine in found.items()}
