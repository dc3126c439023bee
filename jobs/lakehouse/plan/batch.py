"""From the profile of a batch to the plans of its tables: pure decisions.

In: groups of messages (`spark.profile`), schemas, what silver has, what earlier cuts left behind.
Out: one `TablePlan` for each source table, or the reason why a table is held.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lakehouse.config import SourceConfig, is_mapped
from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity, silver_namespace, topic_of
from lakehouse.plan.fitting import fitted, left_out_of, silver_columns
from lakehouse.plan.groups import Group
from lakehouse.plan.progress import Progress
from lakehouse.plan.renames import Renames, names_after
from lakehouse.plan.row_schema import RowSchema
from lakehouse.plan.schema import SchemaPlan, older_defaults, plan_schema
from lakehouse.plan.tables import TablePlan, TopicPartition, Version
from lakehouse.plan.types import Column, Kind, ValueType


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What is known of a table before the batch.

    Attributes:
        silver: Namespace and name of its silver table.
        stored: Silver's columns, name → Spark type; empty when there is no table yet.
        start: Where its events begin.
        holds: Fingerprints that `check` holds → why.
        key: The columns that identify a row; empty for a bag of rows, None for no table yet.
        renames: The columns that the source renamed, and which of them silver has followed.
        is_empty: Whether the batch begins without a row, whatever silver has: all is applied again.
        dropped: Columns that silver is not to have any more, in lower case.
    """

    silver: str
    stored: Mapping[str, str]
    start: Progress
    holds: Mapping[int, str]
    key: tuple[str, ...] | None = None
    renames: Renames = field(default_factory=Renames)
    is_empty: bool = False
    dropped: frozenset[str] = frozenset()

    @property
    def has_rows(self) -> bool:
        """Whether the batch builds on rows that silver has."""
        return bool(self.stored) and not self.is_empty


@dataclass(frozen=True, slots=True)
class TableRules:
    """Where a table's key comes from, and what happens to changes of its schema.

    Attributes:
        configured: The columns that the TOML file names; empty for those of the event key.
        halves: Whether an update may change the key and still be one event.
        keeps_types: Whether a column stays as it is where no promotion covers its new type.
        keeps_columns: Whether a table that is there gets no column and no wider type.
    """

    configured: tuple[str, ...] = ()
    halves: bool = False
    keeps_types: bool = False
    keeps_columns: bool = False


def is_foreign_topic(group: Group, source: SourceConfig) -> bool:
    """Whether a table's events stand in a topic that is neither its own nor mapped to it."""
    if group.identity is None or group.renamed:
        return False
    if not CONNECTORS[source.connector].own_topics:
        return False
    own = topic_of(group.identity, source.topic_prefix, source.connector)
    return group.topic != own and not is_mapped(source, group.topic, group.identity)


def table_groups(
    groups: Iterable[Group], source: SourceConfig
) -> dict[TableIdentity, tuple[Group, ...]]:
    """The groups of each table that becomes silver: control tables and strays left out."""
    found: dict[TableIdentity, list[Group]] = {}
    for group in groups:
        if group.identity is None or source.is_control_table(group.identity):
            continue
        if not is_foreign_topic(group, source):
            found.setdefault(group.identity, []).append(group)
    return {identity: tuple(mine) for identity, mine in sorted(found.items())}


def plan_table(
    identity: TableIdentity,
    groups: Sequence[Group],
    schemas: Mapping[int, RowSchema],
    facts: TableFacts,
    rules: TableRules,
) -> TablePlan:
    """Plan one table's batch.

    Args:
        identity: The source table.
        groups: Its groups, in any order.
        schemas: Fingerprint → columns.
        facts: What is known of the table.
        rules: Where its key comes from, and what happens to changes.
    """
    # Truncates alone do not tell a new table's key, and there is no row yet that they remove.
    is_known = facts.stored or any(group.rows for group in groups)
    candidates = _versions(groups, schemas, facts) if is_known else []
    configured = tuple(facts.renames.stored_names(rules.configured, "", facts.stored).values())
    key = _table_key(candidates, facts.key, configured)
    versions: list[Version] = []
    hold, limits = "", {}
    plan = SchemaPlan()
    for version, problem in candidates:
        hold = problem or facts.holds.get(version.fingerprint, "")
        hold = hold or _lacks_key(configured, version)
        hold = hold or _key_changed(key, version, configured)
        tried = [v.stored_columns for v in (*versions, version)]
        attempt = plan_schema(
            facts.stored,
            tried,
            keeps_types=rules.keeps_types,
            keeps_columns=rules.keeps_columns,
        )
        hold = hold or attempt.hold
        if hold:
            limits = _limits(groups, version)
            break
        plan = attempt
        versions.append(version)
    columns = silver_columns(facts.stored, plan)
    left_out = left_out_of(versions, columns)
    versions = [fitted(version, columns) for version in versions]
    truncate = max((group.truncate or "" for group in groups), default="")
    if truncate and facts.stored and not candidates:
        versions.append(_blank(facts.stored, key))
    return TablePlan(
        identity=identity,
        silver=facts.silver,
        exists=facts.has_rows,
        columns=columns,
        versions=tuple(versions),
        key=key,
        key_in_row=bool(rules.configured),
        halves=rules.halves or bool(rules.configured) or not key,
        schema=plan,
        # A table stops right before a change that it is held at.
        renames=() if hold else facts.renames.due(facts.stored),
        dropped=() if hold else _going(columns, key, facts),
        renamed=facts.renames.newest,
        defaults=older_defaults(
            facts.stored if facts.has_rows else (), [v.stored_columns for v in versions]
        ),
        start=facts.start,
        places=tuple(sorted({(group.topic, group.partition) for group in groups})),
        limits=limits,
        truncate=truncate,
        placeholders=any(group.placeholders for group in groups),
        read_again=_is_read_again(groups, facts),
        hold=hold,
        notes=left_out,
    )


def _going(columns: Iterable[str], key: Sequence[str], facts: TableFacts) -> tuple[str, ...]:
    """What silver has and is not to have any more, as it is called once renames are followed."""
    named = names_after(facts.renames.due(facts.stored), columns)
    return tuple(
        name for was, name in named.items() if name.lower() in facts.dropped and was not in key
    )


def _is_read_again(groups: Sequence[Group], facts: TableFacts) -> bool:
    begun = sum(group.snapshots_begun for group in groups)
    ended = sum(group.snapshots_ended for group in groups)
    # The first snapshot of a table is interrupted before it has ended and begins again.
    return ended > 0 and (facts.has_rows or begun > 1)


def _blank(stored: Mapping[str, str], key: Sequence[str]) -> Version:
    """The version of a batch that holds no row: a truncate alone."""
    columns = tuple(Column(name, ValueType(Kind.CAST, stored[name]), optional=True) for name in key)
    return Version(0, columns, tuple(key), {})


def _versions(
    groups: Sequence[Group], schemas: Mapping[int, RowSchema], facts: TableFacts
) -> list[tuple[Version, str]]:
    """The schema versions in the order in which they came, each with why it cannot be used."""
    found: dict[int, list[Group]] = {}
    for group in groups:
        if group.fingerprint is not None:
            found.setdefault(group.fingerprint, []).append(group)
    positions = {fingerprint: _first_position(mine) for fingerprint, mine in found.items()}
    # Offsets of several topic partitions have no order; positions have one, where all have one.
    by_position = all(positions.values())
    ordered = sorted(
        found,
        key=lambda fingerprint: (
            positions[fingerprint] if by_position else "",
            min(group.first_offset for group in found[fingerprint]),
        ),
    )
    return [
        _version(fingerprint, found[fingerprint], schemas[fingerprint], facts)
        for fingerprint in ordered
    ]


def _first_position(groups: Iterable[Group]) -> str:
    return min((group.first_position for group in groups if group.first_position), default="")


def _version(
    fingerprint: int, groups: Sequence[Group], schema: RowSchema, facts: TableFacts
) -> tuple[Version, str]:
    first: dict[TopicPartition, int] = {}
    for group in groups:
        place = (group.topic, group.partition)
        first[place] = min(first.get(place, group.first_offset), group.first_offset)
    names = [column.name for column in schema.columns]
    stored = facts.renames.stored_names(names, _first_position(groups), facts.stored)
    # A truncate has no key and says nothing.
    shapes = {str(g.key_fields) for g in groups if g.rows and g.key_fields not in (None, "[]")}
    fields = {name for shape in shapes for name in json.loads(shape)}
    # What silver has still it gets, until `publish` takes it away.
    present = {name.lower() for name in facts.stored}
    gone = {name for name, s in stored.items() if s.lower() in facts.dropped - present} - fields
    key = tuple(stored[name] for name in names if name in fields) if shapes else None
    problem = schema.problem
    if len(shapes) > 1:
        shown = " and ".join(sorted(shapes))
        problem = problem or f"the event key changed its fields: {shown}"
    columns = tuple(column for column in schema.columns if column.name not in gone)
    withheld = (*schema.withheld, *sorted(gone))
    return Version(fingerprint, columns, key, first, stored, withheld), problem


def _table_key(
    candidates: Sequence[tuple[Version, str]],
    stored: tuple[str, ...] | None,
    configured: tuple[str, ...],
) -> tuple[str, ...]:
    """The columns that identify a row; none for a bag of rows."""
    if configured:
        return configured
    if stored is not None:
        return stored
    return next((version.key for version, _ in candidates if version.key), ())


def _lacks_key(configured: Sequence[str], version: Version) -> str:
    names = {column.name.lower() for column in version.stored_columns}
    lacking = [name for name in configured if name.lower() not in names]
    if not lacking:
        return ""
    return (
        f"the TOML file names {', '.join(map(repr, lacking))} as the key, and its rows have no "
        f"such column: expected some of {', '.join(sorted(names))}"
    )


def _key_changed(key: tuple[str, ...], version: Version, configured: tuple[str, ...]) -> str:
    if configured or version.key is None or set(version.key) == set(key):
        return ""
    return f"primary_key: the event key changed from {key} to {version.key}"


def _limits(groups: Sequence[Group], version: Version) -> dict[TopicPartition, int]:
    """Where to stop in each topic partition: before the version that cannot be used.

    In a topic partition without it nothing tells what came before, so none of it is applied.
    """
    firsts: dict[TopicPartition, int] = {}
    for group in groups:
        place = (group.topic, group.partition)
        firsts[place] = min(firsts.get(place, group.first_offset), group.first_offset)
    return {place: version.first.get(place, first) for place, first in firsts.items()}


def silver_identifier(source: str, name: str) -> str:
    """Namespace and name of a silver table."""
    return f"{silver_namespace(source)}.{name}"
