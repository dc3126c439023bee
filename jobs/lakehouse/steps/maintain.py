"""Step `maintain`: compaction, expiry and clean-up of one source's tables; no row changes.

In: the tables of a source, the cuts that its TOML file keeps. Out: fewer files and snapshots. A
silver table is maintained under the lease, one at a time, so that a run waits shortly. One
table's failure does not stop the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import cast

import structlog

from lakehouse.errors import first_line
from lakehouse.failpoints import reach
from lakehouse.names import bronze_table, silver_namespace
from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.records import CONTROL_TABLES, ControlTable
from lakehouse.plan.store_faults import store_fault
from lakehouse.plan.upkeep import compacting
from lakehouse.plan.upkeep.compacting import Figures, Maintained
from lakehouse.plan.upkeep.keeping import Cuts, cuts_of
from lakehouse.spark import altering
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.control.lease_table import LEASES
from lakehouse.spark.control.leases import Leases
from lakehouse.spark.metadata import load_metadata
from lakehouse.spark.opening import load_table
from lakehouse.spark.rewriting import procedures, upkeep
from lakehouse.spark.sql import timestamp
from lakehouse.steps.context import Json, StepContext, StepOutcome

# For how long it waits for runs at work, over all tables.
_PATIENCE_S = 1800
# All sources share the control tables: whoever comes first looks for their leftovers.
_SOUGHT_PROPERTY = "lakehouse.orphans-sought"
_SEEK_EVERY = timedelta(hours=20)
_LOG = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Round:
    """One maintenance of one source."""

    context: StepContext
    now: datetime
    end: float

    @property
    def name(self) -> str:
        return self.context.source.name

    def kept(self, work: int) -> upkeep.Kept:
        """What stays by now; a run may have published since the last table."""
        source = self.context.source
        cuts = cuts_of(self.context.ledger.cuts(source.name), source.cuts.keep, self.now)
        return upkeep.Kept(cuts, work, source.rebuild.undo, self.now)


@dataclass(frozen=True, slots=True)
class _Done:
    """What was done to a table."""

    removed: int = 0
    notes: tuple[str, ...] = ()


def run(context: StepContext) -> StepOutcome:
    """Maintain the source's tables."""
    return maintain(context, datetime.now(UTC))


def maintain(context: StepContext, now: datetime) -> StepOutcome:
    """Maintain the source's tables as of a time; ages of cuts and snapshots count from it."""
    this = _Round(context, now, time.monotonic() + _PATIENCE_S)
    bronze, catalog = bronze_table(this.name), context.ledger.catalog
    known = {name: load_metadata(catalog, name) for name in _silver_tables(this)}
    folders = {name: each.location for name, each in known.items() if each is not None}
    acts: dict[str, Callable[[], _Done]] = {bronze: partial(_bronze, this, bronze)}
    acts |= {table: partial(_silver, this, table, folders) for table in folders}
    acts |= {control.name: partial(_control, this, control) for control in CONTROL_TABLES}
    acts[LEASES] = partial(_shared_leftovers, this, LEASES)
    done = (_attempt(this, table, act) for table, act in acts.items())
    return _outcome([each for each in done if each is not None])


def _silver_tables(this: _Round) -> list[str]:
    return upkeep.table_names(this.context.ledger.catalog, silver_namespace(this.name))


def _attempt(this: _Round, table: str, act: Callable[[], _Done]) -> Maintained | None:
    """What became of a table; None where there is none."""
    catalog = this.context.ledger.catalog
    metadata = load_metadata(catalog, table)
    if metadata is None:
        return None
    before = upkeep.figures(metadata)
    try:
        done = act()
    except Exception as failure:  # noqa: BLE001 - the other tables are maintained all the same
        reason = store_fault(failure, this.name) or first_line(failure)
        _LOG.error("table not maintained", table=table, reason=reason)
        return Maintained(table, before, error=reason)
    metadata = load_metadata(catalog, table)
    after = upkeep.figures(metadata) if metadata else None
    _LOG.info("table maintained", table=table, removed=done.removed)
    reach("between_tables")
    return Maintained(table, before, after, done.removed, notes=done.notes)


def _bronze(this: _Round, table: str) -> _Done:
    """Landings append meanwhile, and stage again where a compaction comes first."""
    spark, ledger = this.context.spark, this.context.ledger
    removed = upkeep.remove_orphans(spark, table)
    kept = upkeep.Kept(Cuts(), 0, timedelta(0), this.now)
    upkeep.drop_leftovers(spark, ledger.catalog, table, kept)
    ended = f"landed_at < {timestamp(compacting.ended_days(this.now))}"
    upkeep.compact(spark, ledger.catalog, table, compacting.BRONZE, ended)
    metadata = load_metadata(ledger.catalog, table)
    head = metadata.snapshot_by_name(MAIN) if metadata else None
    if head is not None and compacting.needs_manifests(
        len(head.manifests(load_table(ledger.catalog, table).io))
    ):
        procedures.rewrite_manifests(spark, table)
    told = Bronze(this.name, ledger).telling()
    anchors = () if told is None else (told,)
    return _Done(removed + upkeep.expire(spark, ledger.catalog, table, kept, anchors))


def _silver(this: _Round, table: str, folders: Mapping[str, str]) -> _Done:
    spark, catalog = this.context.spark, this.context.ledger.catalog
    shared = upkeep.neighbours(table, folders)
    removed = 0 if shared else upkeep.remove_orphans(spark, table)
    patience = max(0.0, this.end - time.monotonic())
    with Leases(catalog, this.name).upkeep(this.context.run_id, patience) as hold:
        kept = this.kept(hold.work)
        upkeep.drop_leftovers(spark, catalog, table, kept)
        hold.check()
        waits = upkeep.compact_silver(spark, catalog, table, upkeep.needed, hold)
        hold.check()
        removed += upkeep.expire(spark, catalog, table, kept)
    notes = [f"orphans stay: {shared[0]} has files in its folder"] if shared else []
    return _Done(removed, tuple([*notes, waits] if waits else notes))


def _control(this: _Round, control: ControlTable) -> _Done:
    """The source's part of a control table; its snapshots are forgotten by each append."""
    spark, catalog = this.context.spark, this.context.ledger.catalog
    # Before the compaction: whoever reads what it replaces has a day for it.
    done = _shared_leftovers(this, control.name)
    upkeep.compact_control(spark, catalog, control, this.name)
    return done


def _shared_leftovers(this: _Round, table: str) -> _Done:
    metadata = load_metadata(this.context.ledger.catalog, table)
    text = metadata.properties.get(_SOUGHT_PROPERTY) if metadata else None
    if text is not None and this.now - datetime.fromisoformat(text) < _SEEK_EVERY:
        return _Done()
    altering.set_properties(this.context.spark, table, {_SOUGHT_PROPERTY: this.now.isoformat()})
    return _Done(upkeep.remove_orphans(this.context.spark, table))


def _outcome(found: list[Maintained]) -> StepOutcome:
    before = _total(each.before for each in found)
    after = _total(each.after or each.before for each in found)
    failed = [f"{each.table}: {each.error}" for each in found if each.error]
    removed = sum(each.removed for each in found)
    message = (
        f"{len(found) - len(failed)} tables maintained: {before.files} data files became "
        f"{after.files}, {before.deletes} delete files {after.deletes}, {before.snapshots} "
        f"snapshots {after.snapshots}; {removed} files removed from the store"
    )
    counts = {
        "tables": len(found),
        "tables_failed": len(failed),
        "files_before": before.files,
        "files_after": after.files,
        "snapshots_before": before.snapshots,
        "snapshots_after": after.snapshots,
        "files_removed": removed,
    }
    return StepOutcome(
        "; ".join([message, *(f"failed: {text}" for text in failed)]),
        counts,
        {"tables": cast("list[Json]", [each.to_detail() for each in found])},
        status="failed" if failed else "succeeded",
        exit_code=1 if failed else 0,
    )


def _total(each: Iterable[Figures | None]) -> Figures:
    total = Figures()
    for one in each:
        total = total + one if one else total
    return total
