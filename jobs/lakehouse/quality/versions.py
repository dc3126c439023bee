"""Schema versions that data events carry: which are new, what changed, and whether silver follows.

In: the versions of a batch, what `quality.schema_versions` has, the source's mode. Out: a judged
version for each new one. A table is held from the first version on that silver may not follow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lakehouse.config.sections import SchemaChangesConfig
from lakehouse.names import TableIdentity
from lakehouse.plan.groups import Group
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.row_schema import RowSchema
from lakehouse.plan.schema import EVOLVED, diff_columns
from lakehouse.plan.types import Column, Kind, ValueType

EVOLVE, HOLD = "evolve", "hold"
Place = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Version:
    """A schema of a table in a batch.

    Attributes:
        first: Topic, topic partition and offset of its first message in each topic partition.
        key: Fields of the event key, sorted.
        problem: Why the schema cannot be read; empty when it can.
    """

    identity: TableIdentity
    fingerprint: int
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    first: tuple[Place, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A version and what becomes of it. `is_new` is False when it was recorded before."""

    version: Version
    kinds: tuple[str, ...]
    verdict: str
    reason: str
    is_new: bool


def batch_versions(
    tables: Mapping[TableIdentity, Sequence[Group]],
    schemas: Mapping[TableIdentity, Mapping[int, RowSchema]],
) -> dict[TableIdentity, tuple[Version, ...]]:
    """The versions of each table, in the order in which they came."""
    found: dict[TableIdentity, tuple[Version, ...]] = {}
    for identity, groups in tables.items():
        by_print: dict[int, list[Group]] = {}
        for group in groups:
            if group.fingerprint is not None:
                by_print.setdefault(group.fingerprint, []).append(group)
        versions = (
            _version(identity, fingerprint, mine, schemas[identity][fingerprint])
            for fingerprint, mine in by_print.items()
        )
        found[identity] = tuple(
            sorted(versions, key=lambda version: min(offset for _, _, offset in version.first))
        )
    return {identity: versions for identity, versions in found.items() if versions}


def judge_versions(
    versions: Sequence[Version],
    recorded: Sequence[SchemaVersionRow],
    config: SchemaChangesConfig,
) -> tuple[Judged, ...]:
    """Judge the versions of one table, oldest first, up to the first one that is held.

    Args:
        versions: Those of the batch.
        recorded: What is recorded of the table from data events, oldest first.
        config: The mode and what needs approval.
    """
    decided = {row.fingerprint: row for row in recorded}
    followed = [row for row in recorded if decided[row.fingerprint].verdict == EVOLVE]
    before = _columns_of(followed[-1]) if followed else None
    judged: list[Judged] = []
    for version in versions:
        known = decided.get(str(version.fingerprint))
        if known is None:
            kinds, verdict, reason = _decide(before, version, config)
        else:
            kinds, verdict, reason = known.change_kinds, known.verdict, known.reason
        judged.append(Judged(version, kinds, verdict, reason, known is None))
        if verdict == HOLD:
            break
        before = (version.columns, version.key)
    return tuple(judged)


def holds(rows: Iterable[SchemaVersionRow]) -> dict[TableIdentity, dict[int, str]]:
    """Table → fingerprint → why it is held, from all recorded versions, oldest first."""
    held: dict[TableIdentity, dict[int, str]] = {}
    for row in rows:
        if not row.fingerprint.lstrip("-").isdigit():
            continue
        mine = held.setdefault(TableIdentity.of(json.loads(row.identity)), {})
        mine.pop(int(row.fingerprint), None)
        if row.verdict == HOLD:
            mine[int(row.fingerprint)] = row.reason
    return {identity: mine for identity, mine in held.items() if mine}


def columns_json(version: Version) -> str:
    """Columns as `quality.schema_versions.columns` holds them."""
    return json.dumps(
        [
            {
                "name": column.name,
                "type": column.type.spark,
                "optional": column.optional,
                "default": column.default,
                "key": column.name in version.key,
                "semantic": column.semantic,
                "doc": column.doc,
                "wire": column.wire,
                "source_type": column.source_type,
            }
            for column in version.columns
        ]
    )


_Shape = tuple[tuple[Column, ...], tuple[str, ...]]


def _decide(
    before: _Shape | None, version: Version, config: SchemaChangesConfig
) -> tuple[tuple[str, ...], str, str]:
    if version.problem:
        return (), HOLD, version.problem
    if before is None:
        kinds: tuple[str, ...] = ("create_table",)
        details = {"create_table": "a new table"}
        blocking: set[str] = set()
    else:
        kinds, details, blocking = _compare(before, version)
    waiting = sorted(set(kinds) & set(config.require_approval))
    if waiting:
        return kinds, HOLD, f"needs approval: {_list(waiting, details)}"
    if config.mode == "fail" and before is not None and kinds:
        return kinds, HOLD, f"mode 'fail' follows no change: {_list(kinds, details)}"
    if blocking:
        return kinds, HOLD, f"silver cannot follow: {_list(sorted(blocking), details)}"
    return kinds, EVOLVE, ""


def _compare(before: _Shape, version: Version) -> tuple[tuple[str, ...], dict[str, str], set[str]]:
    """Kinds of change, each in words, and those that would change stored values."""
    old = {column.name: column for column in before[0]}
    new = {column.name: column for column in version.columns}
    details: dict[str, str] = {}
    blocking: set[str] = set()
    for change in diff_columns(before[0], version.columns):
        details.setdefault(change.kind, f"{change.column} {change.detail}".strip())
        if change.kind not in EVOLVED and not _same_values(change.column, old, new):
            blocking.add(change.kind)
    if version.key and before[1] and version.key != before[1]:
        details["primary_key"] = f"{', '.join(before[1])} → {', '.join(version.key)}"
        blocking.add("primary_key")
    return tuple(sorted(details)), details, blocking


def _same_values(name: str, old: Mapping[str, Column], new: Mapping[str, Column]) -> bool:
    """Whether a stored value means the same under both: same type and same unit."""
    if name not in old or name not in new:
        return False
    before, after = old[name], new[name]
    return (before.type.spark, before.doc) == (after.type.spark, after.doc)


def _list(kinds: Iterable[str], details: Mapping[str, str]) -> str:
    return ", ".join(f"{kind} ({details[kind]})" for kind in kinds)


def _version(
    identity: TableIdentity, fingerprint: int, groups: Sequence[Group], schema: RowSchema
) -> Version:
    shapes = sorted({group.key_fields for group in groups if group.key_fields})
    places: dict[tuple[str, int], int] = {}
    for group in groups:
        at = (group.topic, group.partition)
        places[at] = min(places.get(at, group.first_offset), group.first_offset)
    return Version(
        identity=identity,
        fingerprint=fingerprint,
        columns=schema.columns,
        key=tuple(json.loads(shapes[0])) if shapes else (),
        first=tuple((topic, number, offset) for (topic, number), offset in sorted(places.items())),
        problem=schema.problem,
    )


def _columns_of(row: SchemaVersionRow) -> _Shape:
    values = json.loads(row.columns)
    columns = tuple(
        Column(
            name=value["name"],
            # Comparing needs the stored type alone, not how its values were decoded.
            type=ValueType(Kind.CAST, value["type"]),
            optional=value["optional"],
            default=value["default"],
            semantic=value["semantic"],
            doc=value["doc"],
        )
        for value in values
    )
    return columns, tuple(sorted(value["name"] for value in values if value["key"]))
