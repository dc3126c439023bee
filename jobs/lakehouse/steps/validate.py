"""Step `validate`: the staged rows and what landed, judged before anything is published.

Metrics of all tables come from one Spark pass; the suites `silver` and `bronze` judge them. A
table with a critical failure keeps its published cut; the others go on. What could not be judged
is an error, and what had nothing to judge is "no data": neither is ever "passed".
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from expectations import SUITES
from lakehouse.errors import StepFailed
from lakehouse.plan.records import RESULTS, RunRow
from lakehouse.quality.docs import write_docs
from lakehouse.quality.engine import preload
from lakehouse.quality.files import folder_name
from lakehouse.quality.judgement import Finding, Judgement, Measurement, Verdict, judge, worst
from lakehouse.quality.metrics import Scope, measure
from lakehouse.quality.report_files import reports_folder
from lakehouse.quality.results import Try, result_rows, table_verdicts
from lakehouse.quality.samples import Samples, find_samples
from lakehouse.quality.staged import Target, landed_ranges, staged_cut, targets
from lakehouse.steps.context import StepContext, StepOutcome

_LOG = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Validation:
    """What one validation found."""

    cut_id: str
    targets: tuple[Target, ...]
    silver: Judgement
    bronze: Judgement
    measured: Mapping[str, Measurement]
    verdicts: Mapping[str, Verdict]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.silver.findings + self.bronze.findings

    @property
    def verdict(self) -> Verdict:
        """The worst of all; a run without changed tables and messages has no data."""
        return worst((*self.verdicts.values(), *(f.verdict for f in self.findings)))


def run(context: StepContext, scope: Scope = Scope.CHANGE) -> StepOutcome:
    """Validate what the run staged.

    Args:
        context: The run.
        scope: `change` looks at the batch and its keys, `full` at every row.

    Raises:
        StepFailed: There is nothing that could be validated, because apply did not succeed.
    """
    preload()
    # What check parsed was kept for apply; nothing reads it any more.
    context.spark.catalog.clearCache()
    apply = context.ledger.newest_run(context.source.name, "apply", context.run_id)
    if apply is None:
        raise StepFailed(
            f"Run {context.run_id!r}: no row of apply: expected what it staged; "
            f"do `lakehouse apply --source {context.source.name}` first"
        )
    return _validate(context, apply, scope)


def _validate(context: StepContext, apply: RunRow, scope: Scope) -> StepOutcome:
    started = time.monotonic()
    name, ledger = context.source.name, context.ledger
    cut = staged_cut(apply)
    cuts = [row for row in ledger.cuts(name) if row.state == "published"]
    base = next((row for row in cuts if row.cut_id == cut.base_cut), None)
    changed = targets(context.source, cut, base)
    landed = landed_ranges(ledger.runs(name), context.run_id, context.run_started)
    silver, bronze = measure(context.spark, name, changed, landed, scope)
    measured = time.monotonic()
    validation = _judge(cut.cut_id, changed, silver, bronze)
    judged = time.monotonic()
    samples = find_samples(context.spark, name, changed, landed, validation.findings, scope)
    outcome = _record(context, apply, validation, samples)
    _LOG.info(
        "validated",
        tables=len(changed),
        topic_partitions=len(bronze),
        metrics_s=round(measured - started, 2),
        judgement_s=round(judged - measured, 2),
        record_s=round(time.monotonic() - judged, 2),
    )
    return outcome


def _judge(
    cut_id: str,
    changed: Sequence[Target],
    silver: Sequence[Measurement],
    bronze: Sequence[Measurement],
) -> _Validation:
    of_silver, of_bronze = judge(SUITES["silver"], silver), judge(SUITES["bronze"], bronze)
    return _Validation(
        cut_id=cut_id,
        targets=tuple(changed),
        silver=of_silver,
        bronze=of_bronze,
        measured={measurement.subject: measurement for measurement in silver},
        verdicts=table_verdicts(changed, of_silver.findings, of_bronze.findings),
    )


def _record(
    context: StepContext, apply: RunRow, validation: _Validation, samples: Samples
) -> StepOutcome:
    """Results and Data Docs; the report is made from the results, once this step has its row."""
    now = datetime.now(UTC)
    of = Try(context.source.name, context.run_id, context.run_started, validation.cut_id)
    context.ledger.append(RESULTS, result_rows(of, validation.findings, now, samples))
    root = reports_folder(context.settings.home, context.source.name)
    key = folder_name(validation.cut_id)
    write_docs(root / "docs", key, (validation.silver, validation.bronze))
    return StepOutcome(
        message=_sentence(validation),
        counts={
            "passed": sum(finding.success for finding in validation.findings),
            "failed": sum(not finding.success for finding in validation.findings),
        },
        detail={
            "verdict": validation.verdict.value,
            "verdicts": {table: verdict.value for table, verdict in validation.verdicts.items()},
            "cut_id": validation.cut_id,
            "report": str(root / key / "index.html"),
            "docs": str(root / "docs" / "index.html"),
        },
        batch_id=apply.batch_id,
        exit_code=validation.verdict.exit_code,
    )


def _sentence(validation: _Validation) -> str:
    """The outcome for a person; of failures, the first critical one and how many more."""
    tables, findings = len(validation.verdicts), validation.findings
    if validation.verdict is Verdict.NO_DATA:
        return "no data: nothing landed and no table changed"
    bad = sorted(
        (finding for finding in findings if not finding.success),
        key=lambda f: f.rule.severity.value != "critical",
    )
    judged = f"{len(findings)} expectations on {tables} changed tables"
    if not bad:
        return f"{judged}: all passed"
    first = bad[0]
    observed = ", ".join(f"{key} = {value}" for key, value in first.observed.items())
    kept = [t for t, verdict in validation.verdicts.items() if not verdict.may_publish]
    rest = f"; kept back: {', '.join(kept)}" if kept else ""
    return (
        f"{judged}: {len(bad)} failed, first {first.rule.severity.value} {first.rule.name} of "
        f"{first.subject}: {first.problem or observed} (expected {first.rule.expected}){rest}"
    )
