"""Schema versions that data events carry: which are new, what changed, and whether silver follows.

In: the versions of a batch, what `quality.schema_versions` has, the source's mode. Out: a judged
version for each new one. A table is held from the first version on that silver may not follow.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lakehouse.config import SchemaMode
from lakehouse.config.sections import SchemaChangesConfig
from lakehouse.names import TableIdentity
from lakehouse.plan.groups import Group
from lakehouse.plan.records import EVOLVE, HOLD, KEEP, POLICY, SchemaVersionRow
from lakehouse.plan.row_schema import RowSchema
from lakehouse.plan.schema import EVOLVED, RENAMING, TOLERANT
from lakehouse.plan.types import Column, Kind, ValueType
from lakehouse.quality.changes import BY_STATEMENT, Changes, Shape, compare, first_of
from lakehouse.quality.statements import Told

FOLLOWED = (EVOLVE, KEEP)
# What a mode does not do to silver, though it could.
_KEPT: Mapping[SchemaMode, Collection[str]] = {
    "lenient": ("drop_column", "rename_column"),
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


def judge_versions(
    versions: Sequence[Version],
    recorded: Sequence[SchemaVersionRow],
    config: SchemaChangesConfig,
    told: Told | None = None,
) -> tuple[Judged, ...]:
    """Judge the versions of one table, oldest first, up to the first one that is held.

    Args:
        versions: Those of the batch.
        recorded: What is recorded of the table from data events, oldest first.
        config: The mode and what needs approval.
        told: What the table's statements told.
    """
    told = told or Told()
    decided = {row.fingerprint: row for row in recorded}
    followed = [row for row in recorded if decided[row.fingerprint].verdict in FOLLOWED]
    before = shape_of(followed[-1]) if followed else None
    at = followed[-1].position if followed else None
    judged: list[Judged] = []
    for version in versions:
        known = decided.get(str(version.fingerprint))
        comes_back = known in followed[:-1] and "" < (at or "") < version.position
        comes_back |= known is not None and _has_other_key(version, shape_of(known))
        if known is None or comes_back or (known.verdict == HOLD and known.decision == POLICY):
            # The TOML file may say by now that silver follows.
            each = _decide(before, version, config, told.between(at, version.position))
            is_new = known is None or comes_back or each.verdict != known.verdict
            each = replace(each, is_new=is_new)
        else:
            each = Judged(version, known.change_kinds, known.verdict, known.reason, is_new=False)
        judged.append(each)
        if each.verdict == HOLD:
            break
        before, at = (version.columns, version.key), version.position
    return tuple(judged)


def _has_other_key(version: Version, known: Shape) -> bool:
    return bool(version.key and known[1]) and version.key != known[1]


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
    before: Shape | None, version: Version, config: SchemaChangesConfig, told: Told
) -> Judged:
    """Kinds of change, verdict, and the reason of any verdict but `evolve`."""
    if version.problem:
        return Judged(version, (), HOLD, version.problem, is_new=True)
    is_first = before is None and not version.identity.incarnation
    if before:
        changes = compare(before, (version.columns, version.key), told)
    else:
        changes = first_of(is_first=is_first, told=told)
    verdict, reason = judge_kinds(changes, config, told.approved, is_first=is_first)
    if verdict == HOLD and config.mode in RENAMING:
        reason += "".join(f"; {may_be(pair)}" for pair in changes.pairs)
    return Judged(version, changes.kinds, verdict, reason, is_new=True, pairs=changes.pairs)


def may_be(pair: tuple[str, str]) -> str:
    """What a person may say of columns that went and came."""
    was, name = pair
    return f"column {was!r} may have become {name!r}: if so, approve it with --rename {was}={name}"


def judge_kinds(
    changes: Changes, config: SchemaChangesConfig, approved: Collection[str], *, is_first: bool
) -> tuple[str, str]:
    """The verdict about a change, and the reason of any but `evolve`.

    Args:
        changes: What changed.
        config: The mode and what needs approval.
        approved: Kinds that a person has approved, where the change comes from.
        is_first: Whether there was no such table before.
    """
    if waiting := _waiting(changes, config, approved, is_first=is_first):
        return HOLD, waiting
    if hard := changes.unfit if config.mode in TOLERANT else changes.blocking:
        return HOLD, f"silver cannot follow: {changes.listed(hard)}"
    if kept := changes.blocking | set(changes.kinds) & set(_KEPT.get(config.mode, ())):
        return KEEP, f"mode {config.mode!r} keeps silver as it is: {changes.listed(kept)}"
    return EVOLVE, ""


def judge_statement(
    kinds: Iterable[str], config: SchemaChangesConfig, *, is_first: bool
) -> tuple[str, str]:
    """The verdict about a statement: whether silver can follow it, its data events say."""
    changes = Changes(dict.fromkeys(kinds, BY_STATEMENT))
    waiting = _waiting(changes, config, (), is_first=is_first)
    return (HOLD, waiting) if waiting else (EVOLVE, "")


def _waiting(
    changes: Changes, config: SchemaChangesConfig, approved: Collection[str], *, is_first: bool
) -> str:
    """What a person has to decide about; empty for nothing."""
    kinds = set(changes.kinds) - set(approved)
    if asked := kinds & set(config.require_approval):
        return f"needs approval: {changes.listed(asked)}"
    if config.mode == "fail" and kinds and not is_first:
        return f"mode 'fail' follows no change: {changes.listed(kinds)}"
    return ""


def _version(
    identity: TableIdentity, fingerprint: int, groups: Sequence[Group], schema: RowSchema
) -> Version:
    shapes = sorted({group.key_fields for group in groups if group.key_fields})
    # Read events that something else places have the lowest position until then.
    is_placed = not any(group.unplaced for group in groups)
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
        )
        for value in values
    )
    return columns, tuple(sorted(value["name"] for value in values if value["key"]))
