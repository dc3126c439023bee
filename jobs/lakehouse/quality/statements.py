"""What the source's DDL did to whole tables and to names, from recorded schema versions.

In: rows of `quality.schema_versions`, oldest first. Out: where tables were dropped, renamed and
created, and which columns were renamed, each with its position.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from lakehouse.config import SourceConfig
from lakehouse.names import TableIdentity
from lakehouse.plan.following import follow_renames
from lakehouse.plan.incarnations import End, Incarnations, Parts
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.renames import Rename


def as_renamed(source: SourceConfig, rows: Sequence[SchemaVersionRow]) -> SourceConfig:
    """The TOML file as if it named what there is after the source's statements."""
    lives = incarnations(rows, source.connector)
    return follow_renames(source, renames(rows, source.connector), lives)


def incarnations(rows: Iterable[SchemaVersionRow], connector: str) -> Incarnations:
    """Where the source dropped, renamed and created its tables."""
    ends: dict[Parts, dict[str, End]] = {}
    creates: dict[Parts, set[str]] = {}
    for row in rows:
        # Rows from data events have no position: their table may be new to us alone.
        if not row.position:
            continue
        parts = _parts(row.identity, connector)
        if "drop_table" in row.change_kinds:
            ends.setdefault(parts, {})[row.position] = End(row.position)
        if "create_table" in row.change_kinds and not row.previous:
            creates.setdefault(parts, set()).add(row.position)
        if row.previous:
            renamed = ends.setdefault(_parts(row.previous, connector), {})
            renamed[row.position] = End(row.position, parts)
    return Incarnations(
        {parts: tuple(mine[at] for at in sorted(mine)) for parts, mine in ends.items()},
        {parts: tuple(sorted(mine)) for parts, mine in creates.items()},
    )


def renames(rows: Iterable[SchemaVersionRow], connector: str) -> dict[Parts, tuple[Rename, ...]]:
    """The parts of a table's name → the columns that its source renamed, by position."""
    found: dict[Parts, list[Rename]] = {}
    for row in rows:
        if "rename_column" in row.change_kinds and row.position:
            found.setdefault(_parts(row.identity, connector), []).extend(
                Rename(row.position, column["was"], column["name"])
                for column in json.loads(row.columns)
                if column.get("was")
            )
    return {
        parts: tuple(sorted(mine, key=lambda rename: rename.position))
        for parts, mine in found.items()
    }


def _parts(identity: str, connector: str) -> Parts:
    return TableIdentity.of(json.loads(identity)).parts(connector)
