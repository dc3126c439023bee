"""Schema versions as rows of `quality.schema_versions`; only what is not recorded yet.

Rows from data events carry the schema's fingerprint as in the envelopes; rows from the schema
change topic, or the schema history, one that begins with `ddl:`, and the statement.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import TypeAlias

from lakehouse.config import SourceConfig
from lakehouse.names import TableIdentity, silver_name
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.records import (
    DDL,
    EVOLVE,
    HOLD,
    POLICY,
    WITHHELD,
    WITHHELD_CREATE,
    SchemaVersionRow,
)
from lakehouse.quality.schemas import ddl, table_changes, table_columns
from lakehouse.quality.schemas.column_lives import placed
from lakehouse.quality.schemas.history_records import History
from lakehouse.quality.schemas.judging import judge_statement
from lakehouse.quality.schemas.seen import Seen
from lakehouse.quality.schemas.swaps import LEFT, with_swaps
from lakehouse.quality.schemas.versions import Judged, columns_json
from lakehouse.quality.schemas.withheld import masked_columns, without_statement, without_values

_CREATE = "CREATE"
# Why a table waits whose name another one has got.
BY_HAND = (
    "the statement gives its name to another table, and only names of tools for online schema "
    "changes tell that it has the same rows. If it has, release it; if not, "
    "release it, read each table of the statement again with `lakehouse signal … snapshot`, and do "
    "`lakehouse reconcile … --repair`, which removes the rows that the source has elsewhere now"
)
# Identity → columns; none after a drop.
_Tables: TypeAlias = dict[str, tuple[table_columns.TableColumn, ...]]


@dataclass(frozen=True, slots=True)
class LandedSchemas:
    """The schemas that landed since the newest cut.

    Attributes:
        tables: The versions that data events carry, judged.
        names: Table → its silver name, without the namespace.
        events: The schema change topic's events, in order.
        recorded: What `quality.schema_versions` has, oldest first.
        told: What the events say that is not recorded yet.
        unlike: Where they and the data events differ.
        groups: The profile of the batch.
        history: The schema history topic; None where nothing of it was asked for.
    """

    tables: Mapping[TableIdentity, tuple[Judged, ...]]
    names: Mapping[TableIdentity, str]
    events: tuple[ddl.SchemaEvent, ...]
    recorded: tuple[SchemaVersionRow, ...]
    told: tuple[SchemaVersionRow, ...] = ()
    unlike: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    history: History | None = None


def identity_json(identity: TableIdentity) -> str:
    """A source table as rows hold it."""
    return json.dumps(identity.members)


def data_rows(
    source: SourceConfig, run_id: str, landed: LandedSchemas
) -> tuple[SchemaVersionRow, ...]:
    """One row for each version that data events brought for the first time."""
    return tuple(
        SchemaVersionRow(
            source=source.name,
            run_id=run_id,
            table=landed.names[identity],
            identity=identity_json(identity),
            fingerprint=str(judged.version.fingerprint),
            topic=judged.version.first[0][0],
            partition=judged.version.first[0][1],
            offset=judged.version.first[0][2],
            position=judged.version.position,
            ddl="",
            change_kinds=judged.kinds,
            columns=columns_json(judged.version),
            verdict=judged.verdict,
            decision=POLICY,
            reason=judged.reason,
            recorded_at=landed.now,
            previous="",
        )
        for identity, versions in landed.tables.items()
        for judged in versions
        if judged.is_new
    )


def ddl_rows(
    source: SourceConfig,
    run_id: str,
    events: Sequence[ddl.SchemaEvent],
    recorded: Iterable[SchemaVersionRow],
) -> tuple[SchemaVersionRow, ...]:
    """One row for each table that a statement changed.

    Args:
        source: The source.
        run_id: The run that found them.
        events: What statements did, in order: of the schema change topic, or of the schema history.
        recorded: What `quality.schema_versions` has, oldest first.
    """
    now = datetime.now(UTC)
    of_topic = [row for row in recorded if row.is_from_ddl]
    seen, before = Seen.of(of_topic), _tables(of_topic)
    masked = cache(partial(masked_columns, source, events))
    rows: list[SchemaVersionRow] = []
    for event in (without_statement(each, masked) for each in with_swaps(events)):
        for change in event.changes:
            public = without_values(change, masked(change.identity))
            row = _ddl_row(source, run_id, now, event, public)
            if not seen.is_new(row):
                continue
            kinds, previous = _fold(event, public, before)
            if kinds:
                # A source snapshot tells what is there already.
                is_first = kinds == ("create_table",) or event.message.is_snapshot
                verdict, reason = judge_statement(
                    kinds, source.schema_changes_of(change.identity), is_first=is_first
                )
                if change.by_hand and "swap_table" in kinds:
                    verdict, reason = HOLD, reason or BY_HAND
                row = replace(row, change_kinds=kinds, previous=previous)
                rows.append(replace(row, verdict=verdict, reason=reason))
    return tuple(rows)


def _tables(of_topic: Sequence[SchemaVersionRow]) -> _Tables:
    """The tables as the recorded statements leave them."""
    tables: _Tables = {}
    for row in (*(row for row in of_topic if not row.position), *placed(of_topic)):
        tables.pop(row.previous, None)
        tables[row.identity] = table_columns.columns_from_json(row.columns)
    return tables


def _fold(
    event: ddl.SchemaEvent, change: table_changes.TableChange, before: _Tables
) -> tuple[tuple[str, ...], str]:
    """The kinds of one change, none for no version, and the table's identity before a rename."""
    identity = identity_json(change.identity)
    # Snapshots begin by dropping every table, and repeat what is known; of a name that a statement
    # takes and gives up again there is nothing afterwards.
    if not change.columns and (event.message.is_snapshot or change.swapped):
        return (), ""
    if change.kind == LEFT and not before.get(identity):
        return (), ""
    # No table gets the name of one that is there: the statement has put that one aside.
    is_swapped = change.swapped or (change.was is not None and bool(before.get(identity)))
    previous = "" if is_swapped else _previous(change, before)
    earlier = before.pop(previous or identity, None) or None
    before[identity] = change.columns
    kinds: tuple[str, ...] = table_columns.change_kinds(earlier, change.columns)
    # A new table comes with its constraints, and snapshots repeat those that are known.
    is_keyed = change.identity.table.lower() in event.keyed and not event.message.is_snapshot
    if is_keyed and earlier and change.columns:
        kinds = (*kinds, "constraint")
    if previous:
        kinds = ("rename_table", *kinds)
    if is_swapped and earlier:
        kinds = ("swap_table", *kinds)
    return kinds, previous


def _previous(change: table_changes.TableChange, before: Iterable[str]) -> str:
    """The identity that a renamed table had; a statement may write it in another case."""
    if not change.was:
        return ""
    wanted = identity_json(change.was)
    found = [identity for identity in before if identity.lower() == wanted.lower()]
    return found[0] if found else wanted


def _statement(event: ddl.SchemaEvent, change: table_changes.TableChange) -> str:
    """What is kept of a statement: that it creates the table shows where its text does not."""
    if change.kind != _CREATE:
        return event.ddl
    return {ddl.NO_STATEMENT: "", WITHHELD: WITHHELD_CREATE}.get(event.ddl, event.ddl)


def _ddl_row(
    source: SourceConfig,
    run_id: str,
    now: datetime,
    event: ddl.SchemaEvent,
    change: table_changes.TableChange,
) -> SchemaVersionRow:
    columns, identity = table_columns.columns_json(change.columns), change.identity
    return SchemaVersionRow(
        source=source.name,
        run_id=run_id,
        table=silver_name(identity, source.connector),
        identity=identity_json(identity),
        fingerprint=DDL + hashlib.sha256(columns.encode()).hexdigest()[:16],
        topic=event.message.topic,
        partition=event.message.partition,
        offset=event.message.offset,
        position=event.message.position or "",
        ddl=_statement(event, change),
        change_kinds=(),
        columns=columns,
        verdict=EVOLVE,
        decision=POLICY,
        reason="",
        recorded_at=now,
        previous="",
    )
