"""From the profile of a batch to the plans of its tables: pure decisions.

In: groups of messages (`spark.batches.profile`), schemas, what silver has, what earlier cuts left
behind. Out: one `TablePlan` for each source table, or the reason why a table is held.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lakehouse.config import SourceConfig, is_mapped
from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity, silver_namespace, topic_of
from lakehouse.plan.batches.fitting import fitted, left_out_of, silver_columns
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.table_key import lacks_key, table_key
from lakehouse.plan.batches.table_versions import TableFacts, blank_version, table_versions
from lakehouse.plan.batches.tables import TablePlan, TopicPartition, Version
from lakehouse.plan.schemas.renames import names_after
from lakehouse.plan.schemas.row_schema import RowSchema
from lakehouse.plan.schemas.schema import SchemaPlan, older_defaults, plan_schema


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
    candidates = table_versions(groups, schemas, facts) if is_known else []
    configured = tuple(facts.renames.stored_names(rules.configured, "", facts.stored).values())
    key = table_key(candidates, facts.key, configured)
    versions: list[Version] = []
    hold, limits = "", {}
    plan = SchemaPlan()
    for version, problem in candidates:
        hold = problem or facts.holds.get(version.fingerprint, "")
        hold = hold or lacks_key(key, version, configured)
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
        versions.append(blank_version(facts.stored, key))
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
