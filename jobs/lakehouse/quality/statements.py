"""What the source's DDL did to whole tables and to names, from recorded schema versions.

In: rows of `quality.schema_versions`, oldest first. Out: where tables were dropped and created,
and which columns were renamed, each with its position.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from lakehouse.names import TableIdentity
from lakehouse.plan.incarnations import Incarnations, Parts
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.renames import Rename


def incarnations(rows: Iterable[SchemaVersionRow], connector: str) -> Incarnations:
    """Where the source dropped and created its tables."""
    rows = list(rows)
    return Incarnations(
        _positions(rows, connector, "drop_table"), _positions(rows, connector, "create_table")
    )


def renames(rows: Iterable[SchemaVersionRow], connector: str) -> dict[Parts, tuple[Rename, ...]]:
    """The parts of a table's name → the columns that its source renamed, by position."""
    found: dict[Parts, list[Rename]] = {}
    for row in rows:
        if "rename_column" in row.change_kinds and row.position:
            found.setdefault(_parts(row, connector), []).extend(
                Rename(row.position, column["was"], column["name"])
                for column in json.loads(row.columns)
                if column.get("was")
            )
    return {
        parts: tuple(sorted(mine, key=lambda rename: rename.position))
        for parts, mine in found.items()
    }


def _positions(
    rows: Iterable[SchemaVersionRow], connector: str, kind: str
) -> dict[Parts, tuple[str, ...]]:
    found: dict[Parts, set[str]] = {}
    for row in rows:
        # Rows from data events have no position: their table may be new to us alone.
        if kind in row.change_kinds and row.position:
            found.setdefault(_parts(row, connector), set()).add(row.position)
    return {parts: tuple(sorted(mine)) for parts, mine in found.items()}


def _parts(row: SchemaVersionRow, connector: str) -> Parts:
    return TableIdentity.of(json.loads(row.identity)).parts(connector)
