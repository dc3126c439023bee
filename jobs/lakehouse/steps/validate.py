"""Step `validate`: the staged rows and what landed, judged before anything is published.

Metrics of all tables come from one Spark pass; the suites `silver` and `bronze` judge them. A
table with a critical failure keeps its published cut; the others go on. With `full` nothing is
staged: all rows of the newest published cut are judged, and what fails is told.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import structlog

from lakehouse.connectors import CONNECTORS
from lakehouse.errors import StepFailed
from lakehouse.names import TableIdentity
from lakehouse.plan.cuts.handover import StagedCut
from lakehouse.plan.records import RunRow, SchemaVersionRow
from lakehouse.plan.schemas.foreign_keys import foreign_keys, unread_keys
from lakehouse.quality.engine import preload
from lakehouse.quality.judgement import Measurement, Verdict
from lakehouse.quality.measuring.broken_rules import measure_what_can_be
from lakehouse.quality.measuring.landed import LandedRanges, landed_ranges
from lakehouse.quality.measuring.metrics import Scope
from lakehouse.quality.measuring.published import published_tables, published_targets
from lakehouse.quality.measuring.reference_rows import with_comparable_references
from lakehouse.quality.measuring.references import (
    Standing,
    standing_in,
    standing_in_published,
    with_reasons,
    with_references,
)
from lakehouse.quality.measuring.samples import find_samples
from lakehouse.quality.measuring.set_aside import set_aside
from lakehouse.quality.measuring.staged import Target, staged_cut, targets
from lakehouse.quality.schemas.column_facts import column_facts
from lakehouse.spark.bronze.appended import known_snapshot
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.metadata import missing_of, row_count
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.validating import Validation, judge_all, record

_LOG = structlog.get_logger()
_NO_TRANSACTIONS = "foreign keys: no whole transactions have come"


def run(context: StepContext) -> StepOutcome:
    """Validate what the run staged; all of the newest published cut where the run is full.

    Raises:
        StepFailed: There is nothing that could be validated.
    """
    if context.full:
        preload()
        return _validate_published(context)
    # What check parsed was kept for apply; nothing reads it any more.
    context.spark.catalog.clearCache()
    apply = context.ledger.newest_run(context.source.name, "apply", context.run_id)
    if apply is None:
        raise StepFailed(
            f"Run {context.run_id!r}: no row of apply: expected what it staged; "
            f"do `lakehouse apply --source {context.source.name}` first"
        )
    return _validate_staged(context, apply)


def _validate_staged(context: StepContext, apply: RunRow) -> StepOutcome:
    name, ledger = context.source.name, context.ledger
    cut = staged_cut(apply)
    cuts = [row for row in ledger.cuts(name) if row.state == "published"]
    base = next((row for row in cuts if row.cut_id == cut.base_cut), None)
    newest = max((row.cut_id for row in cuts), default="")
    staged = [TableIdentity.of(table.identity) for table in cut.tables if table.changed]
    if staged:
        preload()
    versions = ledger.schema_versions(name)
    facts = column_facts(versions, context.source, context.run_id, staged)
    changed = targets(context.source, cut, base, facts)
    if newest >= cut.cut_id:
        _refuse_gone(context, changed, newest)
    standing = standing_in(cut, base) if cut.transactions else None
    changed = _with_references(context, versions, changed, standing)
    landed = _landed(context, cut)
    counted = {
        "transactions": _of_transactions(context, cut),
        "quarantine": set_aside(json.loads(apply.counts)),
    }
    judged, changed = _judged(context, cut.cut_id, changed, landed, counted)
    return _recorded(context, judged, changed, landed, apply.batch_id)


def _landed(context: StepContext, cut: StagedCut) -> LandedRanges:
    bronze = Bronze(context.source.name, context.ledger)
    runs = context.ledger.runs(context.source.name)
    found = landed_ranges(runs, context.run_id, context.run_started, bronze.before, cut.topics)
    before = bronze.landed(context.spark).without(found.ranges)
    return replace(found, known=known_snapshot(bronze, before))


def _refuse_gone(context: StepContext, tables: Iterable[Target], newest: str) -> None:
    """A run that is published is judged again only while all that it staged is there.

    Raises:
        StepFailed: A table was given another name, or a snapshot of it has expired.
    """
    name, catalog = context.source.name, context.ledger.catalog
    for table in tables:
        if missing := missing_of(catalog, table.silver, table.snapshots):
            raise StepFailed(
                f"Run {context.run_id!r}: table {table.silver!r} has not, or no more, the snapshot "
                f"{missing[0]}: expected what the run staged; cut {newest} is published since. "
                f"Judge the newest cut: `lakehouse validate --source {name} --full`"
            )


def _with_references(
    context: StepContext,
    versions: Sequence[SchemaVersionRow],
    tables: tuple[Target, ...],
    standing: Standing | None,
) -> tuple[Target, ...]:
    """The tables with the foreign keys that can be judged, and why others are not.

    Without whole transactions (no `standing`) a row may come before what it refers to.
    """
    source, connector = context.source, CONNECTORS[context.source.connector]
    keys = foreign_keys(versions, connector)
    tables = with_reasons(source, tables, unread_keys(versions, connector))
    if standing is None:
        return with_reasons(source, tables, dict.fromkeys(keys, (_NO_TRANSACTIONS,)))
    count = partial(row_count, context.ledger.catalog)
    tables = with_references(source, standing, tables, keys, count)
    return with_comparable_references(context.spark, tables)


def _validate_published(context: StepContext) -> StepOutcome:
    name, ledger = context.source.name, context.ledger
    cut, cuts, runs = ledger.newest_cut(name), ledger.cuts(name), ledger.runs(name)
    if any(row.run_id == context.run_id and row.step != "validate" for row in runs):
        raise StepFailed(
            f"Run {context.run_id!r}: has staged or landed something: expected a run id of its "
            "own, so that its verdicts are not taken for those of what is staged; leave it out"
        )
    if cut is None:
        return _nothing_published(name)
    tables = published_tables(cut, cuts, runs)
    found = [TableIdentity.of(table.identity) for table in tables.known]
    versions = ledger.schema_versions(name)
    facts = column_facts(versions, context.source, context.run_id, found)
    whole = published_targets(context.source, tables.known, facts, context.run_started)
    standing = standing_in_published(cut) if any(row.transactions for row in cuts) else None
    whole = _with_references(context, versions, whole, standing)
    nothing = LandedRanges((), (context.run_id,), context.run_started)
    judged, whole = _judged(context, cut.cut_id, whole, nothing, {})
    # No row of apply tells what they should hold: they are not judged, which is never "passed".
    verdicts = {**judged.verdicts, **dict.fromkeys(tables.unknown, Verdict.ERROR)}
    return _recorded(context, replace(judged, verdicts=verdicts), whole, nothing, cut.cut_id)


def _nothing_published(name: str) -> StepOutcome:
    """A source whose first run is still to come has no fault; it has not passed either."""
    verdict = Verdict.NO_DATA
    return StepOutcome(
        f"no data: nothing of source {name!r} is published yet: its rows are judged once a run "
        f"has published a cut; `lakehouse run --source {name}`, or its Dag, does",
        detail={"verdict": verdict.value, "verdicts": {}, "cut_id": "", "scope": Scope.FULL.value},
        exit_code=verdict.exit_code,
        ends_run=True,
    )


def _judged(
    context: StepContext,
    cut_id: str,
    tables: Sequence[Target],
    landed: LandedRanges,
    counted: Mapping[str, Sequence[Measurement]],
) -> tuple[Validation, tuple[Target, ...]]:
    started = time.monotonic()
    scope = Scope.FULL if context.full else Scope.CHANGE
    tables, found = measure_what_can_be(context.spark, context.source.name, tables, landed, scope)
    measured = time.monotonic()
    validation = judge_all(cut_id, scope, tables, found, counted)
    _LOG.info(
        "validated",
        scope=scope.value,
        tables=len(tables),
        topic_partitions=len(found[1]),
        metrics_s=round(measured - started, 2),
        judgement_s=round(time.monotonic() - measured, 2),
    )
    return validation, tables


def _recorded(
    context: StepContext,
    validation: Validation,
    tables: Sequence[Target],
    landed: LandedRanges,
    batch_id: str,
) -> StepOutcome:
    name, findings = context.source.name, validation.findings
    samples = find_samples(context.spark, name, tables, landed, findings, validation.scope)
    return record(context, validation, samples, batch_id)


def _of_transactions(context: StepContext, cut: StagedCut) -> tuple[Measurement, ...]:
    """What apply counted while it looked for whole transactions."""
    topic = context.source.kafka.transactions
    return (Measurement(topic, cut.marks, {}),) if topic is not None and cut.marks else ()
