"""The end of an erasure: what the tables were before it is forgotten, and who was erased.

In: a published erasure. Out: bronze and silver tables with one snapshot and no other ref, control
tables and reports that name the keys no more. It is recorded as maintenance: no row changes.
"""

from __future__ import annotations

import time

from lakehouse.errors import StepFailed
from lakehouse.names import bronze_table
from lakehouse.plan.batches.tables import ENDINGS
from lakehouse.plan.records import CutRow
from lakehouse.plan.remaking.erasing import key_values, names_of
from lakehouse.plan.remaking.rebuilding import Rebuild, choose
from lakehouse.quality.reports.erased_reports import erase_in_reports
from lakehouse.spark import metadata
from lakehouse.spark.control.leases import Leases
from lakehouse.spark.rewriting.erased_names import erase_names
from lakehouse.spark.rewriting.erased_rows import forget_past
from lakehouse.spark.staging.properties import properties_of
from lakehouse.steps.context import StepContext, StepOutcome

# For how long a run at work, or a landing, is waited for.
_PATIENCE_S = 1800.0
_LANDING_S = 300.0


def forget(context: StepContext) -> StepOutcome:
    """Forget what the tables of an erasure were before it.

    Raises:
        StepFailed: The run erases nothing.
        Superseded: Another run works longer than maintenance waits.
    """
    asked = context.erasure
    cut = context.ledger.newest_cut(context.source.name)
    if asked is None or cut is None:
        raise StepFailed(f"Run {context.run_id!r}: expected one that erases; nothing was forgotten")
    [silver] = choose(cut, Rebuild((asked.table,)), context.source.connector).tables
    removed = _forget_tables(context, silver, cut)
    columns = properties_of(context.ledger.catalog, silver).key or ()
    names = names_of([key_values(text, columns) for text in asked.keys], columns)
    controls = erase_names(context.spark, context.source.name, names)
    removed += sum(
        forget_past(context.spark, context.ledger.catalog, each.name) for each in controls
    )
    pages = erase_in_reports(context.settings.home, context.source.name, names)
    return StepOutcome(
        f"{asked.table}: {removed} files removed from the store, {len(controls)} control tables "
        f"and {pages} files of reports named a key",
        {"removed": removed, "control_tables": len(controls), "report_files": pages},
    )


def _forget_tables(context: StepContext, silver: str, cut: CutRow) -> int:
    catalog, source = context.ledger.catalog, context.source.name
    removed = 0
    with Leases(catalog, source).upkeep(context.run_id, _PATIENCE_S) as hold:
        for table in (silver + ending for ending in ENDINGS):
            hold.check()
            # A cut that came meanwhile may have its snapshot on a branch alone.
            if table in cut.tables and metadata.is_in_main(catalog, table, cut.tables[table]):
                removed += forget_past(context.spark, catalog, table)
    bronze = bronze_table(source)
    _await_landings(context, bronze)
    return removed + forget_past(context.spark, catalog, bronze)


def _await_landings(context: StepContext, bronze: str) -> None:
    """A landing that began before stages on a branch of its own; it ends by itself."""
    end = time.monotonic() + _LANDING_S
    while time.monotonic() < end and len(metadata.refs(context.ledger.catalog, bronze)) > 1:
        time.sleep(1)
