"""Schema versions that data events carry, and those that are recorded of them.

In: the groups of a batch, their schemas, rows of `quality.schema_versions`. Out: the versions of
each table in the order in which they came, and what recorded ones say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lakehouse.names import TableIdentity
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.records import EVOLVE, HOLD, KEEP, SchemaVersionRow
from lakehouse.plan.schemas.row_schema import RowSchema
from lakehouse.plan.schemas.types import Column, Kind, ValueType
from lakehouse.quality.schemas.changes import Shape

FOLLOWED = (EVOLVE, KEEP)
Place = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Version:
    """A schema of a table in a batch.

    Attributes:
        first: Topic, topic partition and offset of its first message in each topic partition.
        key: Fields of the event key, sorted.
        problem: Why the schema cannot be read; empty when it can.
        position: The lowest one of its messages; empty where none has one.
        last_position: The highest one.
    """

    identity: TableIdentity
    fingerprint: int
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    first: tuple[Place, ...]
    problem: str = ""
    position: str = ""
    last_position: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A version and what becomes of it.

    Attributes:
        is_new: False when that was recorded before.
        pairs: Columns that went and came and may be the same ones, old and new name.
    """

    version: Version
    kinds: tuple[str, ...]
    verdict: str
    reason: str
    is_new: bool
    pairs: tuple[tuple[str, str], ...] = ()


def batch_versions(
    tables: Mapping[TableIdentity, Sequence[Group]],
    schemas: Mapping[TableIdentity, Mapping[int, RowSchema]],
) -> dict[TableIdentity, tuple[Version, ...]]:
    """The versions of each table, in the order in which they came."""
    found: dict[TableIdentity, tuple[Version, ...]] = {}
    for identity, groups in tables.items():
        versions = (
            _version(identity, fingerprint, mine, schemas[identity][fingerprint])
            for fingerprint, mine in _by_schema(groups)
        )
        found[identity] = _in_order(versions)
    return {identity: versions for identity, versions in found.items() if versions}


def _by_schema(groups: Iterable[Group]) -> Iterator[tuple[int, list[Group]]]:
    """The groups of each schema, by the key of their events: a row's schema does not tell it."""
    found: dict[int, dict[str, list[Group]]] = {}
    for group in groups:
        if group.fingerprint is not None:
            keys = found.setdefault(group.fingerprint, {})
            keys.setdefault(group.key_fields or "", []).append(group)
    for fingerprint, keys in found.items():
        # A truncate has no key.
        bare = keys.pop("", []) if len(keys) > 1 else []
        for number, mine in enumerate(keys.values()):
            yield fingerprint, [*mine, *bare] if number == 0 else mine


def _in_order(versions: Iterable[Version]) -> tuple[Version, ...]:
    """In the order in which they came; one that another one interrupts comes twice."""
    listed = list(versions)
    is_placed = all(version.position for version in listed)
    listed.sort(key=lambda v: (v.position if is_placed else "", min(at for _, _, at in v.first)))
    if not is_placed:
        return tuple(listed)
    again = (
        replace(version, position=version.last_position)
        for version in listed
        if any(version.position < v.position < version.last_position for v in listed)
    )
    return tuple(sorted((*listed, *again), key=lambda version: version.position))


def newest_versions(rows: Iterable[SchemaVersionRow]) -> dict[str, SchemaVersionRow]:
    """Fingerprint → the newest row of that version; the version that was told last is the last.

    Args:
        rows: Of one table or of several, oldest first.
    """
    newest: dict[str, SchemaVersionRow] = {}
    for row in rows:
        newest.pop(row.fingerprint, None)
        newest[row.fingerprint] = row
    return newest


def holds(rows: Iterable[SchemaVersionRow]) -> dict[TableIdentity, dict[int, str]]:
    """Table → fingerprint → why it is held, from all recorded versions, oldest first."""
    by_table: dict[TableIdentity, list[SchemaVersionRow]] = {}
    for row in rows:
        if not row.is_from_ddl:
            by_table.setdefault(row.source_table, []).append(row)
    held = {
        table: {
            int(fingerprint): row.reason
            for fingerprint, row in newest_versions(mine).items()
            if row.verdict == HOLD
        }
        for table, mine in by_table.items()
    }
    return {table: mine for table, mine in held.items() if mine}


def keeping(rows: Iterable[SchemaVersionRow]) -> frozenset[TableIdentity]:
    """The tables of which a version is followed as far as their columns stay as they are."""
    newest = newest_versions(rows).values()
    return frozenset(row.source_table for row in newest if row.verdict == KEEP)


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
                "allowed": column.allowed,
            }
            for column in version.columns
        ]
    )


def _version(
    identity: TableIdentity, fingerprint: int, groups: Sequence[Group], schema: RowSchema
) -> Version:
    shapes = sorted({group.key_fields for group in groups if group.key_fields})
    # Read events that something else places have the lowest position until then.
    is_placed = not any(group.last_unplaced is not None for group in groups)
    bounds = (at for g in groups if is_placed for at in (g.first_position, g.last_position))
    positions = [at for at in bounds if at]
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
        position=min(positions, default=""),
        last_position=max(positions, default=""),
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
            # Older rows do not have it.
            allowed=value.get("allowed", ""),
        )
        for value in values
    )
    return columns, tuple(sorted(value["name"] for value in values if value["key"]))
