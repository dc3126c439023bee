"""Schema versions as a timeline: each version with what differs from the one before.

In: rows of `quality.schema_versions`. Out: one history for each source table, pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from lakehouse.names import silver_namespace
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.quality.pages.model import ColumnChange, History, VersionLine
from lakehouse.quality.reports.text import minute_text

VERSIONS_SHOWN = 20
_CHANGES_SHOWN = 40
_Columns = Mapping[str, str]


def histories(rows: Iterable[SchemaVersionRow]) -> tuple[History, ...]:
    """The history of each source table, the one that changed last first.

    Args:
        rows: Oldest first.
    """
    lines: dict[str, list[VersionLine]] = {}
    newest: dict[str, SchemaVersionRow] = {}
    before: dict[tuple[bool, str], _Columns] = {}
    for row in sorted(rows, key=lambda row: (row.recorded_at, row.offset)):
        teller = row.is_from_ddl
        columns = _columns(row)
        earlier = before.pop((teller, row.previous or row.identity), None)
        before[(teller, row.identity)] = columns
        lines.setdefault(row.identity, []).append(_line(row, earlier, columns))
        newest[row.identity] = row
    order = sorted(newest, key=lambda identity: newest[identity].recorded_at, reverse=True)
    return tuple(_history(newest[identity], lines[identity]) for identity in order)


def column_changes(before: _Columns, after: _Columns) -> tuple[ColumnChange, ...]:
    """What differs, column by column, in the order in which the columns stand."""
    found = [
        ColumnChange("~" if name in before else "+", name, before.get(name, ""), text)
        for name, text in after.items()
        if before.get(name) != text
    ]
    gone = (ColumnChange("-", name, text, "") for name, text in before.items() if name not in after)
    return (*found, *gone)


def change_at(rows: Sequence[SchemaVersionRow], held: SchemaVersionRow) -> History:
    """The last versions of one table up to a row, as a history of its own."""
    mine = [r for r in rows if r.identity == held.identity and r.recorded_at <= held.recorded_at]
    lines = histories(r for r in mine if r.is_from_ddl == held.is_from_ddl)
    return lines[0]


def _history(row: SchemaVersionRow, lines: Sequence[VersionLine]) -> History:
    return History(
        identity=row.source_table.full_name,
        silver=f"{silver_namespace(row.source)}.{row.table}",
        versions=tuple(reversed(lines[-VERSIONS_SHOWN:])),
        older=max(len(lines) - VERSIONS_SHOWN, 0),
    )


def _line(row: SchemaVersionRow, before: _Columns | None, columns: _Columns) -> VersionLine:
    changes = column_changes(before, columns) if before is not None else ()
    return VersionLine(
        recorded=minute_text(row.recorded_at),
        told_by="statement" if row.is_from_ddl else "data events",
        place=(row.topic, row.partition, row.offset),
        kinds=row.change_kinds,
        verdict=row.verdict,
        decision=row.decision,
        reason=row.reason,
        ddl=row.ddl,
        changes=changes[:_CHANGES_SHOWN],
        more=len(changes[_CHANGES_SHOWN:]),
        columns=len(columns),
    )


def _columns(row: SchemaVersionRow) -> _Columns:
    return {str(value["name"]): _column_text(value) for value in json.loads(row.columns or "[]")}


def _column_text(value: Mapping[str, object]) -> str:
    """A column as a person would write it."""
    parts = [str(value.get("type", ""))]
    if not value.get("optional", True):
        parts.append("not null")
    if value.get("default") is not None:
        parts.append(f"default {value['default']}")
    if value.get("key"):
        parts.append("key")
    return " ".join(parts)
