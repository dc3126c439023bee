"""What the source's DDL did to whole tables, from recorded schema versions.

In: rows of `quality.schema_versions`, oldest first. Out: where tables were dropped, renamed and
created, what each statement did to a table, and the TOML file as if it named what there is now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lakehouse.config import SourceConfig
from lakehouse.plan.records import HOLD, POLICY, WITHHELD, SchemaVersionRow
from lakehouse.plan.schemas.following import follow_renames
from lakehouse.plan.schemas.incarnations import End, Incarnations, Parts
from lakehouse.plan.schemas.renames import Rename
from lakehouse.quality.schemas.column_lives import (
    Follows,
    column_renames,
    every_table,
    placed,
    turns,
)
from lakehouse.quality.schemas.column_types import told_types


@dataclass(frozen=True, slots=True)
class Statement:
    """What one statement did to one table.

    Attributes:
        position: Events behind it see the table as it is afterwards.
        kinds: The kinds of change.
        decision: Who decided about it.
    """

    position: str
    kinds: tuple[str, ...]
    verdict: str
    decision: str


@dataclass(frozen=True, slots=True)
class Told:
    """What a table's statements told, by position.

    Attributes:
        renames: What becomes of its columns' names.
    """

    statements: tuple[Statement, ...] = ()
    renames: tuple[Rename, ...] = ()

    @property
    def approved(self) -> frozenset[str]:
        """The kinds of change that a person has approved."""
        mine = (each for each in self.statements if each.decision != POLICY)
        return frozenset(kind for each in mine if each.verdict != HOLD for kind in each.kinds)

    def between(self, behind: str | None, before: str) -> Told:
        """What happened behind one position and before another one.

        Args:
            behind: Empty for one that is not known, behind which nothing is known to have happened;
                None for the beginning.
            before: The other one.
        """
        if behind == "":
            return Told()
        behind = behind or ""
        return Told(
            tuple(each for each in self.statements if behind <= each.position < before),
            tuple(each for each in self.renames if behind <= each.position < before),
        )


def as_renamed(source: SourceConfig, rows: Sequence[SchemaVersionRow]) -> SourceConfig:
    """The TOML file as if it named what there is after the source's statements."""
    lives = incarnations(rows, source.connector)
    renamed = column_renames(rows, source.connector, every_table)
    return follow_renames(source, renamed, lives)


def incarnations(rows: Sequence[SchemaVersionRow], connector: str) -> Incarnations:
    """Where the source dropped, renamed and created its tables."""
    ends: dict[Parts, dict[str, End]] = {}
    creates: dict[Parts, set[str]] = {}
    for row in rows:
        # To data events a table may be new because it is new to us.
        if not row.position or not row.is_from_ddl:
            continue
        parts = row.source_table.parts(connector)
        if "drop_table" in row.change_kinds:
            ends.setdefault(parts, {})[row.position] = End(row.position)
        if "create_table" in row.change_kinds and not row.previous:
            creates.setdefault(parts, set()).add(row.position)
        if was := row.previous_table:
            ends.setdefault(was.parts(connector), {})[row.position] = End(row.position, parts)
    return Incarnations(
        {parts: tuple(mine[at] for at in sorted(mine)) for parts, mine in ends.items()},
        {parts: tuple(sorted(mine)) for parts, mine in creates.items()},
        turns(rows, connector),
        told_types(rows, connector),
    )


def told(
    rows: Sequence[SchemaVersionRow], connector: str, lives: Incarnations
) -> dict[tuple[Parts, int], Told]:
    """Table of today and incarnation → what its statements told.

    Args:
        rows: Oldest first.
        connector: Of the source.
        lives: What happened to whole tables.
    """
    found: dict[tuple[Parts, int], list[Statement]] = {}
    for row in (row for row in placed(rows) if row.is_from_ddl):
        life = lives.at(row.source_table.parts(connector), row.position)
        statement = Statement(row.position, row.change_kinds, row.verdict, row.decision)
        found.setdefault(life, []).append(statement)
    renamed = renames(rows, connector, lives, every_table)
    return {life: Told(tuple(mine), renamed.get(life, ())) for life, mine in found.items()}


def renames(
    rows: Iterable[SchemaVersionRow], connector: str, lives: Incarnations, follows: Follows
) -> dict[tuple[Parts, int], tuple[Rename, ...]]:
    """Table of today and incarnation → what becomes of its columns' names, by position.

    Args:
        rows: Oldest first.
        connector: Of the source.
        lives: What happened to whole tables.
        follows: Whether silver renames a table's columns with its source.
    """
    found: dict[tuple[Parts, int], list[Rename]] = {}
    for parts, mine in column_renames(rows, connector, follows).items():
        for rename in mine:
            found.setdefault(lives.at(parts, rename.position), []).append(rename)
    return {
        life: tuple(sorted(mine, key=lambda rename: rename.position))
        for life, mine in found.items()
    }


def additions(
    rows: Sequence[SchemaVersionRow], connector: str, lives: Incarnations
) -> dict[tuple[Parts, int], tuple[tuple[str, str], ...]]:
    """Table of today and incarnation → statements that may add columns, with its name in them.

    A statement that is withheld adds columns too; which default it gives them is not known.

    Args:
        rows: Oldest first.
        connector: Of the source.
        lives: What happened to whole tables.
    """
    found: dict[tuple[Parts, int], list[tuple[str, str]]] = {}
    for row in placed(rows):
        is_hidden = row.ddl.endswith(WITHHELD) and "add_column" in row.change_kinds
        if row.is_from_ddl and (is_hidden or "add" in row.ddl.lower()):
            table = row.source_table
            life = lives.at(table.parts(connector), row.position)
            found.setdefault(life, []).append((row.ddl, table.table))
    return {life: tuple(mine) for life, mine in found.items()}
