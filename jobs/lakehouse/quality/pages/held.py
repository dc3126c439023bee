"""Tables that stand still: why, at which statement, how many messages wait, and the way out.

In: rows of one source. Out: one value for each held table, pure.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from lakehouse.names import silver_namespace
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.quality.pages.facts import RunFacts
from lakehouse.quality.pages.history import change_at
from lakehouse.quality.pages.model import ColumnChange, HeldTable
from lakehouse.quality.pages.reading import SourceRecords
from lakehouse.quality.reports.table_states import TableState
from lakehouse.quality.schemas import held as quality_held


def held_tables(
    records: SourceRecords, states: Sequence[TableState], runs: Sequence[RunFacts]
) -> tuple[HeldTable, ...]:
    """The tables that the newest cut leaves behind, and those that a schema change holds.

    Args:
        records: Rows of the source.
        states: The tables of its newest cut.
        runs: Its runs, oldest first.
    """
    stopped = _held_versions(records)
    behind = {state.silver: state for state in states if state.state == "held"}
    waiting = next((run.waiting for run in reversed(runs) if run.law), {})
    return tuple(
        _by_change(records, version, behind.get(silver), waiting)
        if (version := stopped.get(silver))
        else _refused(records.source, behind[silver])
        for silver in sorted({*stopped, *behind})
    )


def _held_versions(records: SourceRecords) -> dict[str, SchemaVersionRow]:
    """Silver table → the version at which it is held: that of its data events, else a statement."""
    namespace = silver_namespace(records.source)
    waiting = quality_held.held_tables(records.versions, records.connector).values()
    stops = (held.waiting[-1] for held in waiting)
    return {f"{namespace}.{row.table}": row for row in stops}


def _by_change(
    records: SourceRecords,
    version: SchemaVersionRow,
    state: TableState | None,
    waiting: Mapping[str, int],
) -> HeldTable:
    identity = version.source_table
    approve = quality_held.approve_command(records.source, identity, records.connector)
    statements = [
        row.ddl
        for row in records.versions
        if row.identity == version.identity and row.ddl and row.recorded_at <= version.recorded_at
    ]
    changes = change_at(records.versions, version).versions[0].changes
    return HeldTable(
        silver=f"{silver_namespace(records.source)}.{version.table}",
        identity=identity.full_name,
        reason=version.reason,
        cut_id=state.cut_id if state else "",
        at=(version.topic, version.partition, version.offset),
        ddl=statements[-1] if statements else "",
        waiting=waiting.get(version.topic, 0),
        changes=changes,
        commands=(
            (approve, "silver follows; a column keeps its type where the new one does not fit it"),
            (f"{approve} --reject", "it stays held, whatever the mode"),
            *_renaming(approve, changes),
        ),
    )


def _renaming(approve: str, changes: Sequence[ColumnChange]) -> tuple[tuple[str, str], ...]:
    """How to say that a column which went is the one that came; only where that may be."""
    went = [change.column for change in changes if change.sign == "-"]
    came = [change.column for change in changes if change.sign == "+"]
    if not went or not came:
        return ()
    pair = shlex.quote(f"{went[0]}={came[0]}")
    return ((f"{approve} --rename {pair}", "the one column is the other under its new name"),)


def _refused(source: str, state: TableState) -> HeldTable:
    """A table that no recorded version holds: its suites refused it, or it was released since."""
    return HeldTable(
        silver=state.silver,
        identity=state.identity,
        reason=state.reason,
        cut_id=state.cut_id,
        at=None,
        ddl="",
        waiting=0,
        changes=(),
        commands=(
            (f"lakehouse report --source {source}", "says what failed, and for which rows"),
            (f"lakehouse run --source {source}", "judges it again, with all that came since"),
        ),
    )
