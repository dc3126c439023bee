"""Step `validate`: the staged rows and what landed, judged before anything is published.

Metrics of all tables come from one Spark pass; the suites `silver` and `bronze` judge them. A
table with a critical failure keeps its published cut; the others go on. With `full` nothing is
staged: all rows of the newest published cut are judged, and what fails is told.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import structlog

from lakehouse.connectors import CONNECTORS
from lakehouse.errors import StepFailed
from lakehouse.names import TableIdentity
from lakehouse.plan.foreign_keys import foreign_keys
from lakehouse.plan.handover import StagedCut
from lakehouse.plan.records import RunRow
from lakehouse.quality.column_facts import column_facts
from lakehouse.quality.engine import preload
from lakehouse.quality.judgement import Measurement, Verdict
from lakehouse.quality.landed import LandedRanges, landed_ranges
from lakehouse.quality.metrics import Scope, measure
from lakehouse.quality.published import published_tables, published_targets
from lakehouse.quality.references import with_references
from lakehouse.quality.samples import find_samples
from lakehouse.quality.staged import Target, staged_cut, targets
from lakehouse.spark.bronze import Bronze
from lakehouse.spark.metadata import row_count
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.validating import Validation, judge_all, record

_LOG = structlog.get_logger()


def run(context: StepContext) -> StepOutcome:
    """Validate what the run staged; all of the newest published cut where the run is full.

    Raises:
        StepFailed: There is nothing that could be validated.
    """
    preload()
    if context.full:
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
    staged = [TableIdentity.of(table.identity) for table in cut.tables if table.changed]
    versions = ledger.schema_versions(name)
    facts = column_facts(versions, context.source, context.run_id, staged)
    keys = foreign_keys(versions, CONNECTORS[context.source.connector])
    changed = with_references(
        context.source,
        cut,
        targets(context.source, cut, base, facts),
        keys,
        lambda silver: row_count(ledger.catalog, silver),
    )
    landed = landed_ranges(
        ledger.runs(name),
        context.run_id,
        context.run_started,
        Bronze(name, ledger).before,
        cut.topics,
    )
    judged = _judged(context, cut.cut_id, changed, landed, _of_transactions(context, cut))
    return _recorded(context, judged, changed, landed, apply.batch_id)


def _validate_published(context: StepContext) -> StepOutcome:
    name, ledger = context.source.name, context.ledger
    cut, runs = ledger.newest_cut(name), ledger.runs(name)
    if any(row.run_id == context.run_id and row.step != "validate" for row in runs):
        raise StepFailed(
            f"Run {context.run_id!r}: has staged or landed something: expected a run id of its "
            "own, so that its verdicts are not taken for those of what is staged; leave it out"
        )
    if cut is None:
        raise StepFailed(
            f"Source {name!r}: no cut is published: expected one, whose rows are judged; "
            f"do `lakehouse run --source {name}` first"
        )
    tables = published_tables(cut, ledger.cuts(name), runs)
    found = [TableIdentity.of(table.identity) for table in tables.known]
    facts = column_facts(ledger.schema_versions(name), context.source, context.run_id, found)
    whole = published_targets(context.source, tables.known, facts)
    nothing = LandedRanges((), context.run_id, context.run_started)
    judged = _judged(context, cut.cut_id, whole, nothing, ())
    # No row of apply tells what they should hold: they are not judged, which is never "passed".
    verdicts = {**judged.verdicts, **dict.fromkeys(tables.unknown, Verdict.ERROR)}
    return _recorded(context, replace(judged, verdicts=verdicts), whole, nothing, cut.cut_id)


def _judged(
    context: StepContext,
    cut_id: str,
    tables: Sequence[Target],
    landed: LandedRanges,
    transactions: Sequence[Measurement],
) -> Validation:
    started = time.monotonic()
    scope = Scope.FULL if context.full else Scope.CHANGE
    found = measure(context.spark, context.source.name, tables, landed, scope)
    measured = time.monotonic()
    validation = judge_all(cut_id, scope, tables, found, transactions)
    _LOG.info(
        "validated",
        scope=scope.value,
        tables=len(tables),
        topic_partitions=len(found[1]),
        metrics_s=round(measured - started, 2),
        judgement_s=round(time.monotonic() - measured, 2),
    )
    return validation


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
