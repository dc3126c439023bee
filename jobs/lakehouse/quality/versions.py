"""Schema versions that data events carry: which are new, what changed, and whether silver follows.

In: the versions of a batch, what `quality.schema_versions` has, the source's mode. Out: a judged
version for each new one. A table is held from the first version on that silver may not follow.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lakehouse.config import SchemaMode
from lakehouse.config.sections import SchemaChangesConfig
from lakehouse.names import TableIdentity
from lakehouse.plan.groups import Group
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.row_schema import RowSchema
from lakehouse.plan.schema import EVOLVED, TOLERANT
from lakehouse.plan.types import Column, Kind, ValueType
from lakehouse.quality.changes import NEW_TABLE, Shape, compare

# Followed; followed as far as silver's columns stay as they are; the table stops before it.
EVOLVE, KEEP, HOLD = "evolve", "keep", "hold"
FOLLOWED = (EVOLVE, KEEP)
# Who decides where no person did.
POLICY = "policy"
# What a mode does not do to silver, though it could.
_KEPT: Mapping[SchemaMode, Collection[str]] = {
    "lenient": ("drop_column",),
    "ignore": EVOLVED,
}
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
    """A version and what becomes of it. `is_new` is False when that was recorded before."""

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
    followed = [row for row in recorded if decided[row.fingerprint].verdict in FOLLOWED]
    before = shape_of(followed[-1]) if followed else None
    judged: list[Judged] = []
    for version in versions:
        known = decided.get(str(version.fingerprint))
        if known is None or (known.verdict == HOLD and known.decision == POLICY):
            # The TOML file may say by now that silver follows.
            kinds, verdict, reason = _decide(before, version, config)
        else:
            kinds, verdict, reason = known.change_kinds, known.verdict, known.reason
        is_new = known is None or verdict != known.verdict
        judged.append(Judged(version, kinds, verdict, reason, is_new))
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


def keeping(rows: Iterable[SchemaVersionRow]) -> frozenset[TableIdentity]:
    """The tables of which a version is followed as far as their columns stay as they are."""
    newest = {row.fingerprint: row for row in rows}
    kept = (row for row in newest.values() if row.verdict == KEEP)
    return frozenset(TableIdentity.of(json.loads(row.identity)) for row in kept)


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


def _decide(
    before: Shape | None, version: Version, config: SchemaChangesConfig
) -> tuple[tuple[str, ...], str, str]:
    """Kinds of change, verdict, and the reason of any verdict but `evolve`."""
    if version.problem:
        return (), HOLD, version.problem
    changes = compare(before, (version.columns, version.key)) if before else NEW_TABLE
    kinds = changes.kinds
    if waiting := set(kinds) & set(config.require_approval):
        return kinds, HOLD, f"needs approval: {changes.listed(waiting)}"
    if config.mode == "fail" and kinds and before:
        return kinds, HOLD, f"mode 'fail' follows no change: {changes.listed(kinds)}"
    if hard := changes.unfit if config.mode in TOLERANT else changes.blocking:
        return kinds, HOLD, f"silver cannot follow: {changes.listed(hard)}"
    if kept := changes.blocking | set(kinds) & set(_KEPT.get(config.mode, ())):
        return kinds, KEEP, f"mode {config.mode!r} keeps silver as it is: {changes.listed(kept)}"
    return kinds, EVOLVE, ""


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


def shape_of(row: SchemaVersionRow) -> Shape:
    """The columns and the key of a recorded version."""
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
