"""The plans of a batch's tables: what landed, put together with what silver and `quality` know.

In: an open batch, the newest cut, recorded schema versions. Out: one `TablePlan` for each table
that has events in the batch, or columns that the source renamed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

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
from lakehouse.plan.incarnations import Incarnations, Parts
from lakehouse.plan.masks import key_fingerprint
from lakehouse.plan.options import MaskFacts, with_options
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.renames import Rename, Renames
from lakehouse.plan.table_names import TableNames, table_names
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
    columns = _renamed_columns(recorded, lives, source.connector)
    groups = _with_renamed(work, published, columns)
    names = table_names(
        groups,
        source.connector,
        configured=source.configured_names(),
        published=published,
        incarnations=lives,
    )
    held = {lives.today(t, source.connector): why for t, why in holds(recorded).items()}
    behind = excluded_of(cut)
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
            renames=Renames(columns.get(_life(identity, source.connector), ()), stored.renamed),
        )
        options = source.table_options(identity)
        rules = KeyRules(options.key, work.connector.key_changes_in_place)
        schemas = work.batch.schemas.get(identity, {})
        plan = plan_table(identity, mine, schemas, facts, rules)
        if mine or plan.renames:
            masks = MaskFacts(stored.docs, fingerprint)
            plans.append(with_options(plan, mine, schemas.values(), options, masks))
    return plans, names


def _life(table: TableIdentity, connector: str) -> tuple[Parts, int]:
    return table.parts(connector), table.incarnation


def _renamed_columns(
    recorded: Sequence[SchemaVersionRow], lives: Incarnations, connector: str
) -> dict[tuple[Parts, int], tuple[Rename, ...]]:
    """Table of today and incarnation → the columns that the source renamed, by position."""
    found: dict[tuple[Parts, int], list[Rename]] = {}
    for parts, mine in renames(recorded, connector).items():
        for rename in mine:
            found.setdefault(lives.at(parts, rename.position), []).append(rename)
    return {
        life: tuple(sorted(mine, key=lambda rename: rename.position))
        for life, mine in found.items()
    }


def _with_renamed(
    work: Applying,
    published: Iterable[TableIdentity],
    columns: Container[tuple[Parts, int]],
) -> dict[TableIdentity, Sequence[Group]]:
    """A column may be renamed while no row of its table changes."""
    source, lives = work.context.source, work.since.incarnations
    there = (lives.today(table, source.connector) for table in published)
    quiet = [table for table in there if _life(table, source.connector) in columns]
    return {**dict.fromkeys(quiet, ()), **table_groups(work.batch.groups, source)}
