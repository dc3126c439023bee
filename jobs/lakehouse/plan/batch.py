"""From the profile of a batch to the plans of its tables: pure decisions.

In: groups of messages (`spark.profile`), schemas, what silver has, what earlier cuts left behind.
Out: one `TablePlan` for each source table, or the reason why a table is held.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity, sanitised_topic, silver_namespace, topic_of
from lakehouse.plan.groups import Group
from lakehouse.plan.progress import Progress
from lakehouse.plan.row_schema import RowSchema
from lakehouse.plan.schema import SchemaPlan, older_defaults, plan_schema
from lakehouse.plan.tables import TablePlan, TopicPartition, Version


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What is known of a table before the batch.

    Attributes:
        silver: Namespace and name of its silver table.
        stored: Silver's columns, name → Spark type; empty when there is no table yet.
        start: Where its events begin.
        holds: Fingerprints that `check` holds → why.
        key: The columns that identify a row; empty for a bag of rows, None for no table yet.
    """

    silver: str
    stored: Mapping[str, str]
    start: Progress
    holds: Mapping[int, str]
    key: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class KeyRules:
    """Where a table's key comes from.

    Attributes:
        configured: The columns that the TOML file names; empty for those of the event key.
        halves: Whether an update may change the key and still be one event.
    """

    configured: tuple[str, ...] = ()
    halves: bool = False


def is_foreign_topic(group: Group, source: SourceConfig) -> bool:
    """Whether a table's events stand in a topic that is neither its own nor mapped to it."""
    if group.identity is None:
        return False
    if not CONNECTORS[source.connector].own_topics:
        return False
    own = topic_of(group.identity, source.topic_prefix, source.connector)
    return group.topic != own and sanitised_topic(group.topic) not in source.kafka.topic_tables


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
    rules: KeyRules,
) -> TablePlan:
    """Plan one table's batch.

    Args:
        identity: The source table.
        groups: Its groups, in any order.
        schemas: Fingerprint → columns.
        facts: What is known of the table.
        rules: Where its key comes from.
    """
    # Truncates alone do not tell a new table's key, and there is no row yet that they remove.
    is_known = facts.stored or any(group.rows for group in groups)
    candidates = _versions(groups, schemas) if is_known else []
    key = _table_key(candidates, facts.key, rules.configured)
    versions: list[Version] = []
    hold, limits = "", {}
    plan = SchemaPlan()
    for version, problem in candidates:
        hold = problem or facts.holds.get(version.fingerprint, "")
        hold = hold or _key_changed(key, version, rules.configured)
        attempt = plan_schema(facts.stored, [v.columns for v in (*versions, version)])
        hold = hold or attempt.hold
        if hold:
            limits = _limits(groups, version)
            break
        plan = attempt
        versions.append(version)
    return TablePlan(
        identity=identity,
        silver=facts.silver,
        exists=bool(facts.stored),
        columns=_columns(facts.stored, plan),
        versions=tuple(versions),
        key=key,
        key_in_row=bool(rules.configured),
        halves=rules.halves or bool(rules.configured) or not key,
        schema=plan,
        defaults=older_defaults(list(facts.stored), [v.columns for v in versions]),
        start=facts.start,
        limits=limits,
        truncate=max((group.truncate or "" for group in groups), default=""),
        placeholders=any(group.placeholders for group in groups),
        hold=hold,
    )


def _versions(
    groups: Sequence[Group], schemas: Mapping[int, RowSchema]
) -> list[tuple[Version, str]]:
    """The schema versions in the order in which they came, each with why it cannot be used."""
    found: dict[int, dict[TopicPartition, int]] = {}
    keys: dict[int, set[str]] = {}
    for group in groups:
        if group.fingerprint is None:
            continue
        place = (group.topic, group.partition)
        first = found.setdefault(group.fingerprint, {})
        first[place] = min(first.get(place, group.first_offset), group.first_offset)
        # A truncate has no key and says nothing.
        if group.rows and group.key_fields not in (None, "[]"):
            keys.setdefault(group.fingerprint, set()).add(str(group.key_fields))
    ordered = sorted(found, key=lambda fingerprint: min(found[fingerprint].values()))
    return [
        _version(
            Version(fingerprint, schemas[fingerprint].columns, None, found[fingerprint]),
            sorted(keys.get(fingerprint, ())),
            schemas[fingerprint].problem,
        )
        for fingerprint in ordered
    ]


def _version(version: Version, shapes: Sequence[str], problem: str) -> tuple[Version, str]:
    if len(shapes) > 1:
        return version, problem or f"the event key changed its fields: {' and '.join(shapes)}"
    if not shapes:
        return version, problem
    fields = {str(name) for name in json.loads(shapes[0])}
    key = tuple(column.name for column in version.columns if column.name in fields)
    return replace(version, key=key), problem


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


def _columns(stored: Mapping[str, str], plan: SchemaPlan) -> dict[str, str]:
    widened = {name.lower(): kind for name, kind in plan.widen}
    columns = {name: widened.get(name.lower(), kind) for name, kind in stored.items()}
    return columns | {column.name: column.type.spark for column in plan.add}


def silver_identifier(source: str, name: str) -> str:
    """Namespace and name of a silver table."""
    return f"{silver_namespace(source)}.{name}"
