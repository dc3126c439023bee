"""Columns that leave silver because their source dropped them, where the TOML file says so.

In: recorded schema versions, `drop_column = "drop"`. Out: for each table the names of the columns
that silver is not to have any more. Statements tell them; where a source sends none, the schemas in
data events do, and a column that such a schema has again is there again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lakehouse.config import SourceConfig
from lakehouse.names import TableIdentity
from lakehouse.plan.records import EVOLVE, HOLD, SchemaVersionRow
from lakehouse.plan.schemas.incarnations import Incarnations, Parts
from lakehouse.plan.schemas.row_schema import PROVEN
from lakehouse.plan.schemas.schema import RENAMING
from lakehouse.quality.schemas.column_lives import gone_by_statements
from lakehouse.quality.schemas.versions import FOLLOWED, newest_versions

# Columns of ours that would get another name: theirs comes from these names.
_OURS = frozenset({"_cdc", "_version"})


@dataclass(frozen=True, slots=True)
class Dropped:
    """What a table's source dropped of its columns.

    Attributes:
        names: Those that silver is not to have any more, in lower case.
        again: Lower-case name of a column that data events have again → the position behind which
            they had it no more.
    """

    names: frozenset[str] = frozenset()
    again: Mapping[str, str] = field(default_factory=dict)


NOTHING = Dropped()


def dropped_columns(
    rows: Sequence[SchemaVersionRow], source: SourceConfig, lives: Incarnations
) -> dict[tuple[Parts, int], Dropped]:
    """Table of today and incarnation → what leaves silver; only tables of which something does.

    Args:
        rows: Of `quality.schema_versions`, oldest first.
        source: The TOML file as if it named what there is now.
        lives: What happened to whole tables.
    """
    changes = source.schema_changes
    if "drop" not in {changes.drop_column, *(each.drop_column for each in source.tables.values())}:
        return {}
    connector = source.connector
    found = {
        lives.at(parts, position): Dropped(names)
        for parts, position, names in gone_by_statements(rows, connector)
    }
    told = {lives.at(r.source_table.parts(connector), r.position) for r in rows if r.is_from_ddl}
    by_table: dict[TableIdentity, list[SchemaVersionRow]] = {}
    for row in rows:
        if not row.is_from_ddl:
            by_table.setdefault(lives.today(row.source_table, connector), []).append(row)
    for table, mine in by_table.items():
        life = table.parts(connector), table.incarnation
        if life not in told:
            found[life] = _gone_from_events(mine)
    drops = {_parts(table, connector) for table in by_table if _drops(source, table)}
    drops |= {_parts(r.source_table, connector) for r in rows if _drops(source, r.source_table)}
    return {
        life: Dropped(dropped.names - _OURS, dropped.again)
        for life, dropped in found.items()
        if life[0] in drops and (dropped.names - _OURS or dropped.again)
    }


def _parts(table: TableIdentity, connector: str) -> Parts:
    return table.parts(connector)


def _drops(source: SourceConfig, table: TableIdentity) -> bool:
    """Whether dropped columns leave a table: a mode that only adds columns keeps them, too."""
    mine = source.table_options(table).drop_column or source.schema_changes.drop_column
    return mine == "drop" and source.schema_changes_of(table).mode in RENAMING


def _gone_from_events(rows: Sequence[SchemaVersionRow]) -> Dropped:
    names: set[str] = set()
    again: dict[str, str] = {}
    gone_at: dict[str, str] = {}
    before: dict[str, str] = {}
    for row, columns in _followed(rows):
        after = {str(c["name"]).lower(): str(c.get("was") or "").lower() for c in columns}
        # Without a schema a column is not there either where all its values are NULL.
        is_told = all(column.get("wire") != PROVEN for column in columns)
        if is_told and row.verdict == EVOLVE:
            went = before.keys() - after.keys() - set(after.values())
            names |= went
            gone_at |= dict.fromkeys(went, row.position)
        again |= {name: gone_at[name] for name in names & after.keys() if gone_at[name]}
        names -= after.keys()
        before = after
    return Dropped(frozenset(names), again)


def _followed(
    rows: Sequence[SchemaVersionRow],
) -> Iterator[tuple[SchemaVersionRow, Sequence[Mapping[str, str]]]]:
    """The versions of one table up to the first one that silver does not follow."""
    decided = newest_versions(rows)
    for row in rows:
        if decided[row.fingerprint].verdict == HOLD:
            return
        if row.verdict in FOLLOWED:
            yield row, json.loads(row.columns)
