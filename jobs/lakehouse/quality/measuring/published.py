"""The tables of a published cut, as validation looks at all their rows.

In: a published cut, and the rows of `apply` that staged its tables. Out: a target for each table
at its snapshot in the cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lakehouse.config import SourceConfig
from lakehouse.names import RETIRED, TableIdentity
from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.cuts.published import identities_of
from lakehouse.plan.records import CutRow, RunRow
from lakehouse.quality.measuring.staged import Target
from lakehouse.quality.schemas.column_facts import NO_FACTS, ColumnFacts

# How long a source snapshot may take: its rows come table by table.
_SNAPSHOT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class PublishedTables:
    """The tables of a cut.

    Attributes:
        known: As the run that staged them left them, under their names of today.
        unknown: Those of which no row of apply is left.
    """

    known: tuple[StagedTable, ...]
    unknown: tuple[str, ...]


def published_tables(
    cut: CutRow, cuts: Iterable[CutRow], rows: Sequence[RunRow]
) -> PublishedTables:
    """The tables that a cut holds; those that are retired change no more and are left out.

    Args:
        cut: The cut.
        cuts: The states of the source's cuts, this one's among them.
        rows: The source's runs, oldest first.
    """
    names = [name for name in identities_of(cut) if not RETIRED.search(name) and name in cut.tables]
    staged = _as_staged(cuts)
    wanted = {staged.get(cut.tables[n], cut.tables[n]): n for n in sorted(names)}
    found: dict[str, StagedTable] = {}
    for table in _staged(rows):
        # Its name may have changed since; a snapshot is one table's alone.
        name = wanted.pop(table.snapshot, None) if table.snapshot is not None else None
        if name is not None:
            found[name] = replace(table, silver=name, snapshot=cut.tables[name])
        if not wanted:
            break
    known = tuple(table for _, table in sorted(found.items()))
    return PublishedTables(known, tuple(sorted(wanted.values())))


def published_targets(
    source: SourceConfig,
    tables: Iterable[StagedTable],
    facts: Mapping[tuple[str, ...], ColumnFacts],
    judged_at: datetime,
) -> tuple[Target, ...]:
    """Each table with all its rows judged.

    Args:
        source: The source.
        tables: From `published_tables`.
        facts: Parts of a source table's name → what its schema versions say.
        judged_at: When; what was read in the day before may be part of a source snapshot that
            has not ended.
    """
    return tuple(
        Target(
            table=table,
            start={},
            end={},
            is_whole=True,
            settled=judged_at - _SNAPSHOT,
            facts=facts.get(identity.parts(source.connector), NO_FACTS),
            rules=source.table_options(identity).rules,
            not_judged=source.table_options(identity).not_judged,
        )
        for table in tables
        for identity in [TableIdentity.of(table.identity)]
    )


def _as_staged(cuts: Iterable[CutRow]) -> dict[int, int]:
    """Published snapshot → the staged one, where columns got their new names in between."""
    rows = list(cuts)
    announced = {row.cut_id: row.tables for row in rows if row.state == "pending"}
    return {
        snapshot: announced[row.cut_id][name]
        for row in rows
        if row.state == "published" and row.cut_id in announced
        for name, snapshot in row.tables.items()
    }


def _staged(rows: Sequence[RunRow]) -> Iterable[StagedTable]:
    """What runs staged, the newest first; read no further than it is asked for."""
    for row in reversed(rows):
        if row.step == "apply" and row.status == "succeeded":
            cut = StagedCut.from_detail(row.detail)
            yield from cut.tables if cut else ()
