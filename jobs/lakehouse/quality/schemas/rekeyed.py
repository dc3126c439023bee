"""The schema version of a table whose key changed while nobody wrote to it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

from lakehouse.names import TableIdentity
from lakehouse.plan.records import EVOLVE, SchemaVersionRow
from lakehouse.quality.schemas.versions import FOLLOWED, newest_versions, shape_of


def followed_version(
    rows: Iterable[SchemaVersionRow], table: TableIdentity
) -> SchemaVersionRow | None:
    """The version of a table that silver has followed last, as data events tell it.

    Args:
        rows: Recorded versions, oldest first.
        table: The source table.
    """
    mine = [row for row in rows if not row.is_from_ddl and row.source_table == table]
    followed = [row for row in newest_versions(mine).values() if row.verdict in FOLLOWED]
    return followed[-1] if followed else None


def has_key(row: SchemaVersionRow, key: Collection[str]) -> bool:
    """Whether these columns are the key of a version."""
    return {name.lower() for name in shape_of(row)[1]} == {name.lower() for name in key}


def rekeyed(
    row: SchemaVersionRow, key: Collection[str], person: str, now: datetime
) -> SchemaVersionRow:
    """The same version with another key: what comes with it is no change anymore."""
    wanted = {name.lower() for name in key}
    columns = [
        {**column, "key": column["name"].lower() in wanted} for column in json.loads(row.columns)
    ]
    return replace(
        row,
        run_id="",
        change_kinds=("primary_key",),
        columns=json.dumps(columns),
        verdict=EVOLVE,
        decision=person,
        reason=f"{person} changed the key to {', '.join(key)} while nobody wrote to the table",
        recorded_at=now,
    )
