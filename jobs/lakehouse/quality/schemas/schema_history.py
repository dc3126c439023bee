"""The metrics of the suite `schema_history`: the connector's own record of schemas beside the rest.

In: the records of the schema history topic, recorded schema versions. Out: one measurement.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from lakehouse.config import SourceConfig
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.quality.judgement import Measurement
from lakehouse.quality.schemas import ddl, table_columns
from lakehouse.quality.schemas.event_faults import changes, falling, malformed, measurement, strays
from lakehouse.quality.schemas.history_records import History

_FOREVER = "-1"
# A table, and its columns as far as both topics write them alike; none after a drop.
Shape: TypeAlias = tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known beside the history.

    Attributes:
        versions: Rows of `quality.schema_versions`, those of this run among them, oldest first.
        groups: The profile of the batch.
        settings: The topic's configuration; empty where nobody asked Kafka.
    """

    source: SourceConfig
    versions: Sequence[SchemaVersionRow] = ()
    groups: Sequence[Group] = field(default=(), repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)


def measure_history(history: History, beside: Beside) -> Measurement:
    """The metrics of the suite `schema_history`.

    Args:
        history: What is landed of the topic.
        beside: What is known beside it.
    """
    events, is_whole = history.events, history.is_whole
    told = _versions(events, beside)
    public = _public(beside, history.topic)
    counted: dict[str, Iterable[str]] = {
        "messages_in_other_partitions": strays(events),
        "malformed_records": malformed(events),
        "keyed_records": (f"offset {offset}" for offset in history.keyed),
        "positions_going_back": falling(events),
        "tables_unlike_events": _unlike_events(told, beside) if is_whole else (),
    }
    if is_whole:
        counted["tables_without_history"] = _unknown_tables(told, beside)
    if is_whole and public:
        known = {table for table, _ in public} | set(_captured(beside))
        counted["versions_missing_in_history"] = _missing(public, told)
        counted["versions_missing_in_topic"] = _missing(
            [shape for shape in told if shape[0] in known], public
        )
        counted["tables_unlike_topic"] = _unlike(public, told)
    if beside.settings:
        counted |= _of_settings(beside.settings)
    return measurement(history.topic, counted)


def _versions(events: Iterable[ddl.SchemaEvent], beside: Beside) -> list[Shape]:
    """Every version of every table that the history tells, each once in a row."""
    connector = beside.source.connector
    return _each_once(
        (change.identity.parts(connector), _columns(change.columns))
        for _, change in changes(events)
    )


def _public(beside: Beside, history: str) -> list[Shape]:
    """The same of the schema change topic."""
    return _each_once(
        (
            row.source_table.parts(beside.source.connector),
            _columns(table_columns.columns_from_json(row.columns)),
        )
        for row in beside.versions
        if row.is_from_ddl and row.topic != history
    )


def _each_once(shapes: Iterable[Shape]) -> list[Shape]:
    newest: dict[tuple[str, ...], Shape] = {}
    kept: list[Shape] = []
    for shape in shapes:
        # A table that is not there yet can be dropped too (IF EXISTS).
        if newest.get(shape[0], (shape[0], ())) != shape:
            kept.append(shape)
        newest[shape[0]] = shape
    return kept


def _columns(columns: Iterable[table_columns.TableColumn]) -> tuple[tuple[object, ...], ...]:
    return tuple((c.name, c.type, c.length, c.scale, c.optional, c.key) for c in columns)


def _missing(of: Sequence[Shape], within: Sequence[Shape]) -> Iterator[str]:
    """What one topic lacks between versions that both have: at either end one may be ahead."""
    there = set(within)
    both = [index for index, shape in enumerate(of) if shape in there]
    for shape in of[both[0] : both[-1]] if both else ():
        if shape not in there:
            yield _named(shape)


def _unlike(public: Sequence[Shape], told: Sequence[Shape]) -> Iterator[str]:
    """Tables that end otherwise, neither topic being ahead of the other."""
    ends, other_ends = dict(public), dict(told)
    all_public, all_told = set(public), set(told)
    for table in ends.keys() & other_ends.keys():
        is_known = (table, ends[table]) in all_told or (table, other_ends[table]) in all_public
        if not is_known:
            yield ".".join(table)


def _unlike_events(told: Iterable[Shape], beside: Beside) -> Iterator[str]:
    """Tables whose newest change events have a column that stands in no version beside the rest."""
    versions: dict[tuple[str, ...], list[set[str]]] = {}
    for table, columns in told:
        versions.setdefault(table, []).append({str(column[0]).lower() for column in columns})
    for table, row in _captured(beside).items():
        names = {str(c["name"]).lower() for c in json.loads(row.columns)} if row else set()
        mine = versions.get(table, [])
        if mine and not any(names <= version for version in mine):
            yield ".".join(table)


def _unknown_tables(told: Iterable[Shape], beside: Beside) -> Iterator[str]:
    known = {table for table, _ in told}
    for table in sorted(_captured(beside).keys() - known):
        yield ".".join(table)


def _captured(beside: Beside) -> dict[tuple[str, ...], SchemaVersionRow | None]:
    """The tables that send change events, and the newest version that those carry."""
    connector = beside.source.connector
    found: dict[tuple[str, ...], SchemaVersionRow | None] = {
        group.identity.parts(connector): None for group in beside.groups if group.identity
    }
    return found | {
        row.source_table.parts(connector): row for row in beside.versions if not row.is_from_ddl
    }


def _of_settings(settings: Mapping[str, str]) -> dict[str, list[str]]:
    policy = settings["cleanup.policy"]
    limits = [name for name in ("retention.ms", "retention.bytes") if settings[name] != _FOREVER]
    return {
        "compaction": [f"cleanup.policy = {policy}"] if "compact" in policy else [],
        "retention_limits": [f"{name} = {settings[name]}" for name in limits],
    }


def _named(shape: Shape) -> str:
    table, columns = shape
    names = ", ".join(str(column[0]) for column in columns) or "dropped"
    return f"{'.'.join(table)} ({names})"
