"""The plans of a batch's tables: what landed, put together with what silver and `quality` know.

In: an open batch, the newest cut, recorded schema versions. Out: one `TablePlan` for each table
that has events in the batch, or columns that the source renamed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakehouse.config import mask_secret
from lakehouse.names import TableIdentity
from lakehouse.plan.batch import (
    KeyRules,
    TableFacts,
    plan_table,
    silver_identifier,
    table_groups,
)
from lakehouse.plan.groups import Group
from lakehouse.plan.handover import excluded_of, published_names
from lakehouse.plan.incarnations import Incarnations, Parts, TableNames, table_names
from lakehouse.plan.masks import key_fingerprint
from lakehouse.plan.options import with_options
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.renames import Rename, Renames
from lakehouse.plan.tables import TablePlan
from lakehouse.quality.statements import renames
from lakehouse.quality.versions import holds
from lakehouse.spark import silver
from lakehouse.spark.properties import properties_of
from lakehouse.steps.applying import Applying


def table_plans(
    work: Applying, recorded: Sequence[SchemaVersionRow]
) -> tuple[list[TablePlan], TableNames]:
    """Plan every table of the batch, and name the tables.

    Args:
        work: The open batch.
        recorded: Rows of `quality.schema_versions`, oldest first.
    """
    source, cut, lives = work.context.source, work.cut, work.since.incarnations
    published = published_names(cut)
    renamed = renames(recorded, source.connector)
    groups = _with_renamed(
        table_groups(work.batch.groups, source), published, renamed, source.connector
    )
    names = table_names(
        groups,
        source.connector,
        configured=source.configured_names(),
        published=published,
        incarnations=lives,
    )
    held, behind = holds(recorded), excluded_of(cut)
    base = Progress.from_json(cut.offsets if cut else "")
    fingerprint = key_fingerprint(mask_secret(source))
    plans: list[TablePlan] = []
    for identity, mine in groups.items():
        identifier = silver_identifier(source.name, names.staged[identity])
        own = behind.get(identifier)
        stored = properties_of(work.context.ledger.catalog, identifier)
        facts = TableFacts(
            silver=identifier,
            stored=silver.stored_columns(work.context.spark, identifier),
            start=Progress.from_json(own.offsets) if own else base,
            holds=held.get(identity, {}),
            key=stored.key,
            renames=Renames(_own(identity, renamed, lives, source.connector), stored.renamed),
        )
        options = source.table_options(identity)
        rules = KeyRules(options.key, work.connector.key_changes_in_place)
        schemas = work.batch.schemas.get(identity, {})
        plan = plan_table(identity, mine, schemas, facts, rules)
        if mine or plan.renames:
            plans.append(with_options(plan, mine, options, stored.docs, fingerprint))
    return plans, names


def _own(
    table: TableIdentity,
    renamed: Mapping[Parts, tuple[Rename, ...]],
    lives: Incarnations,
    connector: str,
) -> tuple[Rename, ...]:
    """The renamed columns of one incarnation."""
    parts = table.parts(connector)
    return tuple(
        rename
        for rename in renamed.get(parts, ())
        if lives.holds_at(parts, table.incarnation, rename.position)
    )


def _with_renamed(
    groups: Mapping[TableIdentity, Sequence[Group]],
    published: Mapping[TableIdentity, str],
    renamed: Mapping[Parts, tuple[Rename, ...]],
    connector: str,
) -> dict[TableIdentity, Sequence[Group]]:
    """A column may be renamed while no row of its table changes."""
    quiet = [table for table in published if table.parts(connector) in renamed]
    return {**dict.fromkeys(quiet, ()), **groups}
