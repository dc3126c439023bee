"""From the profile of a batch to the plans of its tables: pure decisions.

In: groups of messages (`spark.profile`), schemas, what silver has, what earlier cuts left behind.
Out: one `TablePlan` for each source table, or the reason why a table is held.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity, sanitised_topic, silver_namespace, topic_of
from lakehouse.plan.groups import Group
from lakehouse.plan.progress import Progress
from lakehouse.plan.row_schema import RowSchema
from lakehouse.plan.schema import SchemaPlan, older_defaults, plan_schema
from lakehouse.plan.tables import TablePlan, TopicPartition, Version
from lakehouse.plan.types import Column


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What is known of a table before the batch.

    Attributes:
        silver: Namespace and name of its silver table.
        stored: Silver's columns, name → Spark type; empty when there is no table yet.
        start: Where its events begin.
        holds: Fingerprints that `check` holds → why.
    """

    silver: str
    stored: Mapping[str, str]
    start: Progress
    holds: Mapping[int, str]


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
    configured_key: tuple[str, ...] = (),
) -> TablePlan:
    """Plan one table's batch.

    Args:
        identity: The source table.
        groups: Its groups, in any order.
        schemas: Fingerprint → columns.
        facts: What is known of the table.
        configured_key: The key that the TOML file names; empty for the event key.
    """
    versions: list[Version] = []
    hold, limits = "", {}
    plan = SchemaPlan()
    for version, problem in _versions(groups, schemas, configured_key):
        hold = problem or facts.holds.get(version.fingerprint, "")
        hold = hold or _key_changed(versions, version)
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
        key=versions[0].key if versions else (),
        schema=plan,
        defaults=older_defaults(list(facts.stored), [v.columns for v in versions]),
        start=facts.start,
        limits=limits,
        truncate=max((group.truncate or "" for group in groups), default=""),
        placeholders=any(group.placeholders for group in groups),
        hold=hold,
    )


def _versions(
    groups: Sequence[Group], schemas: Mapping[int, RowSchema], configured: tuple[str, ...]
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
        if group.truncate is None or group.key_fields is not None:
            keys.setdefault(group.fingerprint, set()).add(group.key_fields or "")
    ordered = sorted(found, key=lambda fingerprint: min(found[fingerprint].values()))
    versions: list[tuple[Version, str]] = []
    for fingerprint in ordered:
        schema = schemas[fingerprint]
        key, key_problem = _key(keys.get(fingerprint, set()), schema.columns, configured)
        version = Version(fingerprint, schema.columns, key, found[fingerprint])
        versions.append((version, schema.problem or key_problem))
    return versions


def _key(
    shapes: set[str], columns: Sequence[Column], configured: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    """The key's columns in the row's order; truncates have no key and say nothing."""
    if configured:
        return configured, ""
    if "" in shapes:
        return (), "events without a key: a table without a primary key is not applied yet"
    if len(shapes) > 1:
        return (), f"the event key changed its fields: {' and '.join(sorted(shapes))}"
    fields = {str(name) for name in json.loads(next(iter(shapes), "[]"))}
    return tuple(column.name for column in columns if column.name in fields), ""


def _key_changed(versions: Sequence[Version], version: Version) -> str:
    known = next((earlier.key for earlier in versions if earlier.key), ())
    if known and version.key and known != version.key:
        return f"primary_key: the event key changed from {known} to {version.key}"
    return ""


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
