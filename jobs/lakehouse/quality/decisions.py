"""What a person decides about a held table: the change is followed, or it stays held.

In: rows of `quality.schema_versions`, a table, the decision. Out: one more row, which counts from
the next run on. The table goes on from where it stopped: what waits is in bronze.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from lakehouse.errors import ConfigError
from lakehouse.names import format_table, parse_table
from lakehouse.plan.records import EVOLVE, HOLD, KEEP, SchemaVersionRow
from lakehouse.quality.changes import NEW_TABLE, compare
from lakehouse.quality.version_rows import table_of
from lakehouse.quality.versions import FOLLOWED, shape_of


def decide(
    rows: Iterable[SchemaVersionRow],
    connector: str,
    table: str,
    person: str,
    now: datetime,
    *,
    is_approved: bool,
) -> SchemaVersionRow:
    """The row that says what a person decided about the version at which a table is held.

    Args:
        rows: Recorded versions, oldest first.
        connector: Of the source.
        table: As in the TOML file, such as `public.orders`.
        person: Who decides.
        now: When.
        is_approved: Whether silver follows; else the table stays held, whatever the mode.

    Raises:
        ConfigError: The table is not held, or silver cannot follow the change at all.
    """
    parts = parse_table(table, connector).parts(connector)
    versions = {row.fingerprint: row for row in rows if not row.is_from_ddl}
    held = [row for row in versions.values() if row.verdict == HOLD]
    mine = [row for row in held if table_of(row).parts(connector) == parts]
    if not mine:
        known = ", ".join(sorted({format_table(table_of(row), connector) for row in held}))
        raise ConfigError(f"table {table!r}: expected one that is held: {known or 'none is'}")
    last = mine[-1]
    decided = replace(last, run_id="", decision=person, recorded_at=now)
    if not is_approved:
        return replace(decided, reason=f"rejected by {person}: {last.reason}")
    before = [
        row
        for row in versions.values()
        if row.verdict in FOLLOWED and row.identity == last.identity
    ]
    changes = compare(shape_of(before[-1]), shape_of(last)) if before else NEW_TABLE
    if changes.unfit:
        raise ConfigError(
            f"table {table!r}: {changes.listed(changes.unfit)}: expected a change after which new "
            "values can stand beside the stored ones: undo it in the source, or rebuild the table"
        )
    kept = changes.listed(changes.blocking)
    told = f"{person} approved it" + (f"; silver keeps its types: {kept}" if kept else "")
    return replace(decided, verdict=KEEP if kept else EVOLVE, reason=told)
