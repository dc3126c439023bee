"""The plans of a batch's tables: what landed, put together with what silver and `quality` know.

In: an open batch, the newest cut, recorded schema versions. Out: one `TablePlan` for each table
that has events in the batch, or columns that the source renamed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from lakehouse.config import mask_secret
from lakehouse.connectors import Connector
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.batch import TableRules, plan_table, silver_identifier, table_groups
from lakehouse.plan.batches.doubted_defaults import with_doubted_defaults
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.masks import key_fingerprint
from lakehouse.plan.batches.options import OptionFacts, with_options
from lakehouse.plan.batches.sweeps import sweep_rule
from lakehouse.plan.batches.table_versions import TableFacts
from lakehouse.plan.batches.tables import Rewritten, SweepRule, TablePlan
from lakehouse.plan.batches.told_defaults import columns_since, with_told_defaults
from lakehouse.plan.cuts.published import published_names
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.remaking.replay import open_rows
from lakehouse.plan.schemas.incarnations import Parts
from lakehouse.plan.schemas.renames import Renames, in_time
from lakehouse.plan.schemas.schema import TOLERANT
from lakehouse.plan.schemas.table_names import TableNames, table_names
from lakehouse.quality.schemas.dropped_columns import NOTHING
from lakehouse.quality.schemas.rewritten_columns import Rewriting
from lakehouse.spark.batches.generations import with_earlier
from lakehouse.spark.staging.properties import properties_of
from lakehouse.steps.batches.applying import Applying
from lakehouse.steps.batches.column_notes import column_notes
from lakehouse.steps.batches.grounds import added_to, ground_of
from lakehouse.steps.batches.known import Known, known_of, life_of


def table_plans(
    work: Applying, recorded: Sequence[SchemaVersionRow]
) -> tuple[list[TablePlan], TableNames]:
    """Plan every table of the batch, and name the tables.

    Args:
        work: The open batch.
        recorded: Rows of `quality.schema_versions`, oldest first.
    """
    source, lives = work.context.source, work.since.incarnations
    published = published_names(work.cut)
    known = known_of(source, lives, recorded, work.cut)
    groups = _with_renamed(work, published, {*known.columns, *known.dropped})
    names = table_names(
        groups,
        source.connector,
        configured=source.configured_names(),
        published=published,
        incarnations=lives,
    )
    plans = (
        _plan(work, known, identity, mine, identifier)
        for identity, mine in groups.items()
        for identifier in [silver_identifier(source.name, names.staged[identity])]
        if work.rebuilt is None or identifier in work.rebuilt.grounds
    )
    return [plan for plan in plans if plan is not None], names


def _plan(
    work: Applying, known: Known, identity: TableIdentity, mine: Sequence[Group], identifier: str
) -> TablePlan | None:
    """The plan of one table; None where nothing is to be done."""
    source, life = work.context.source, life_of(identity, work.context.source.connector)
    stored = properties_of(work.context.ledger.catalog, identifier)
    at = added_to(work, identifier, stored)
    ground = ground_of(work, known.progress, identifier, stored, at)
    renamed, dropped = known.columns.get(life, ()), known.dropped.get(life, NOTHING)
    followed = in_time(renamed, stored.renamed, ground.applied if stored.key is not None else "")
    facts = TableFacts(
        silver=identifier,
        stored=ground.columns,
        start=ground.start,
        holds=known.holds.get(identity, {}),
        key=stored.key,
        renames=Renames(followed, stored.renamed),
        is_empty=ground.is_empty,
        dropped=dropped.names,
    )
    schemas = work.batch.schemas.get(identity, {})
    plan = plan_table(identity, mine, schemas, facts, _rules(work, known, identity))
    plan = _with_defaults(plan, known.additions.get(life, ()), work.connector)
    plan = _with_rewritings(plan, known.rewritings.get(identity, {}))
    if not mine and not plan.renames and not plan.dropped:
        return None
    former = {*(rename.was.lower() for rename in renamed), *dropped.names}
    secret = key_fingerprint(mask_secret(source))
    options = OptionFacts(stored.docs, secret, former, stored.soft)
    plan = with_options(plan, mine, schemas.values(), source.table_options(identity), options)
    notes = column_notes(renamed, facts.renames, dropped, ground)
    plan = replace(plan, notes=(*plan.notes, *notes), held=ground.held, base=ground.base)
    plan = replace(plan, behind=_behind(work, plan, mine), added_to=at)
    return replace(plan, sweep=_sweep(work, plan) if plan.read_again else plan.sweep)


def _behind(work: Applying, plan: TablePlan, mine: Sequence[Group]) -> str:
    """The highest position of the newest cut, where all events of a table with a key are above."""
    applied = work.since.position
    if not applied or plan.is_bag or work.rebuilt or work.context.replay:
        return ""
    are_above = all((group.first_position or "") > applied for group in mine)
    are_placed = not any(group.suspects or group.last_unplaced is not None for group in mine)
    return applied if are_above and are_placed else ""


def _with_defaults(
    plan: TablePlan, told: Sequence[tuple[str, str]], connector: Connector
) -> TablePlan:
    """The plan with what statements tell of the values that older rows have in added columns."""
    if not columns_since(plan):
        return plan
    return with_doubted_defaults(with_told_defaults(plan, told, connector.ddl_dialect), connector)


def _rules(work: Applying, known: Known, identity: TableIdentity) -> TableRules:
    """What the TOML file and people say of how a table's columns follow."""
    source = work.context.source
    options = source.table_options(identity)
    mode = options.schema_changes.over(source.schema_changes).mode
    return TableRules(
        options.key or (),
        work.connector.key_changes_in_place,
        keeps_types=mode in TOLERANT or identity in known.kept,
        keeps_columns=mode == "ignore",
    )


def _with_rewritings(plan: TablePlan, known: Mapping[int, Rewriting]) -> TablePlan:
    """The plan with the columns whose older values a version changed that begins in the batch."""
    found = {
        version.stored_name(name): Rewritten(why, version.fingerprint)
        for version in plan.versions
        for rewriting in [known.get(version.fingerprint)]
        if rewriting and version.first.get(rewriting.first[:2]) == rewriting.first[2]
        for name, why in rewriting.columns.items()
    }
    return replace(plan, stale={**plan.stale, **found})


def _sweep(work: Applying, plan: TablePlan) -> SweepRule:
    """What a source snapshot that ends in the batch may remove of a table."""
    context = work.context
    standing = open_rows(context.ledger.quarantine(context.source.name), work.batch.end)
    fresh = {group.topic for group in work.batch.groups if group.reason and not group.control}
    rule = sweep_rule(
        context.source.snapshot,
        {topic for topic, _ in plan.places},
        work.batch.landed,
        {topic for topic, _, _ in standing} | fresh,
        is_bag=plan.is_bag,
    )
    if rule.blind or not plan.exists:
        return rule
    return with_earlier(rule, context.spark, context.source, work.since, plan)


def _with_renamed(
    work: Applying,
    published: Iterable[TableIdentity],
    columns: Container[tuple[Parts, int]],
) -> dict[TableIdentity, Sequence[Group]]:
    """A column may be renamed, or dropped, while no row of its table changes."""
    source, lives = work.context.source, work.since.incarnations
    there = (lives.today(table, source.connector) for table in published)
    quiet = [table for table in there if life_of(table, source.connector) in columns]
    return {**dict.fromkeys(quiet, ()), **table_groups(work.batch.groups, source)}
