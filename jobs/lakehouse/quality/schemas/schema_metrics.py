"""The metrics of the suite `schema_changes`: what a batch's schema change events tell of a source.

In: the events of one topic, and what is known of the source's tables beside them. Out: one
measurement, with a note that names tables, columns or offsets wherever something was counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from expectations.schema_changes import TABLE_CHANGE_TYPES
from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.names import silver_name
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.quality.judgement import Measurement
from lakehouse.quality.schemas import ddl
from lakehouse.quality.schemas.event_faults import (
    changes,
    falling,
    malformed,
    measurement,
    place,
    strays,
)
from lakehouse.quality.schemas.losses import lossy_columns
from lakehouse.quality.schemas.version_rows import identity_json

# After these, values or rows that readers know are gone, or fit no longer.
BREAKING = frozenset({"drop_table", "drop_column", "narrow_type", "change_type", "primary_key"})
# A change of a table that was there before it.
_OF_KNOWN_TABLES = frozenset({"ALTER", "RENAME"})


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beside the events.

    Attributes:
        recorded: What `quality.schema_versions` had before them, oldest first.
        new: The versions that are new with them.
        groups: The profile of the batch that they stand in.
    """

    source: SourceConfig
    recorded: Sequence[SchemaVersionRow] = ()
    new: Sequence[SchemaVersionRow] = ()
    groups: Sequence[Group] = field(default=(), repr=False)


def measure_events(topic: str, events: Sequence[ddl.SchemaEvent], known: Known) -> Measurement:
    """The metrics of the suite `schema_changes` for one topic.

    Args:
        topic: Its name.
        events: The topic's events, in order.
        known: What is known beside them.
    """
    mine = [row for row in known.new if row.is_from_ddl and row.topic == topic]
    # Where events stand between data events, history begins with the first of them.
    own_topic = not CONNECTORS[known.source.connector].schema_changes_in_data
    counted = {
        # In data topics every partition has a copy, and any of them may land first.
        "messages_in_other_partitions": strays(events) if own_topic else (),
        "malformed_records": malformed(events),
        "unknown_change_types": _unknown_types(events),
        "unknown_key_columns": _of_columns(events, "unknown_keys"),
        "misplaced_columns": _of_columns(events, "misplaced"),
        "columns_differing_by_case": _case_twins(events),
        "tables_sharing_a_name": _shared_names(events, known),
        "positions_going_back": falling(events),
        "changes_during_snapshots": _during_snapshots(events, known),
        "breaking_changes": _breaking(mine, known.recorded),
        "lossy_columns": _lossy(mine, known),
    }
    if own_topic:
        counted["missing_offsets"] = _gaps(events)
        counted["changes_of_unknown_tables"] = _of_unknown_tables(events, mine)
    return measurement(topic, counted)


def _unknown_types(events: Iterable[ddl.SchemaEvent]) -> Iterator[str]:
    for event, change in changes(events):
        if change.kind not in TABLE_CHANGE_TYPES:
            yield f"{place(event)}: {change.kind}"


def _of_columns(events: Iterable[ddl.SchemaEvent], names: str) -> Iterator[str]:
    for event, change in changes(events):
        for name in getattr(change, names):
            yield f"{place(event)}: {change.identity.full_name}.{name}"


def _case_twins(events: Iterable[ddl.SchemaEvent]) -> Iterator[str]:
    for _, change in changes(events):
        uses = Counter(column.name.lower() for column in change.columns)
        for column in change.columns:
            if uses[column.name.lower()] > 1:
                yield f"{change.identity.full_name}.{column.name}"


def _shared_names(events: Iterable[ddl.SchemaEvent], known: Known) -> Iterator[str]:
    """Tables of the events whose name another table has, unless the TOML file names one of them."""
    told = {change.identity for _, change in changes(events) if change.columns}
    named = known.source.configured_names()
    tables = {row.source_table for row in known.recorded if row.is_from_ddl} | told
    free = [table for table in tables if table not in named]
    uses = Counter(silver_name(table, known.source.connector) for table in free)
    for table in sorted(told - named.keys()):
        if uses[name := silver_name(table, known.source.connector)] > 1:
            yield f"{table.full_name} as {name}"


def _gaps(events: Iterable[ddl.SchemaEvent]) -> Iterator[str]:
    """Where two offsets or more are missing; an end of a transaction takes one."""
    for earlier, later in pairwise(event.message for event in events):
        if earlier.partition == later.partition and later.offset - earlier.offset > 2:
            yield f"offsets {earlier.offset + 1} to {later.offset - 1}"


def _of_unknown_tables(
    events: Iterable[ddl.SchemaEvent], new: Iterable[SchemaVersionRow]
) -> Iterator[str]:
    first = {(row.offset, row.identity) for row in new if "create_table" in row.change_kinds}
    for event, change in changes(events):
        is_change = change.kind in _OF_KNOWN_TABLES and not event.message.is_snapshot
        if is_change and (event.message.offset, identity_json(change.identity)) in first:
            yield f"{place(event)}: {change.identity.full_name}"


def _during_snapshots(events: Iterable[ddl.SchemaEvent], known: Known) -> Iterator[str]:
    """Changes between the first and the last row that an incremental snapshot read of a table."""
    reads: dict[tuple[str, ...], tuple[str, str]] = {}
    for group in known.groups:
        first, last = group.first_incremental, group.last_incremental
        if group.identity is not None and first is not None and last is not None:
            names = group.identity.parts(known.source.connector)
            low, high = reads.get(names, (first, last))
            reads[names] = (min(low, first), max(high, last))
    for event, change in changes(events):
        low, high = reads.get(change.identity.parts(known.source.connector), ("", ""))
        if low < (event.message.position or "") < high:
            yield f"{place(event)}: {change.identity.full_name}"


def _breaking(
    new: Iterable[SchemaVersionRow], recorded: Iterable[SchemaVersionRow]
) -> Iterator[str]:
    before = {row.identity: row for row in recorded if row.is_from_ddl}
    for row in new:
        kinds = [kind for kind in row.change_kinds if kind in BREAKING]
        kinds += [f"NOT NULL of {name}" for name in _now_required(before.get(row.identity), row)]
        before[row.identity] = row
        if kinds:
            yield f"{row.source_table.full_name}: {', '.join(kinds)}"


def _now_required(before: SchemaVersionRow | None, after: SchemaVersionRow) -> list[str]:
    optional = {c["name"] for c in json.loads(before.columns) if c["optional"]} if before else set()
    return [
        str(c["name"])
        for c in json.loads(after.columns)
        if not c["optional"] and (c.get("was") or c["name"]) in optional
    ]


def _lossy(new: Iterable[SchemaVersionRow], known: Known) -> Iterator[str]:
    connector = known.source.connector
    changed = {row.source_table.parts(connector) for row in new if row.columns != "[]"}
    rows = [r for r in (*known.recorded, *known.new) if r.source_table.parts(connector) in changed]
    for table, columns in lossy_columns(rows, known.source).items():
        yield from (f"{table}.{column}" for column in columns)
