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
from lakehouse.names import TableIdentity
from lakehouse.plan.handover import StagedCut
from lakehouse.plan.records import RESULTS, RunRow
from lakehouse.quality.column_facts import column_facts
from lakehouse.quality.docs import write_docs
from lakehouse.quality.engine import preload
from lakehouse.quality.files import folder_name
from lakehouse.quality.judgement import Finding, Judgement, Measurement, Verdict, judge, worst
from lakehouse.quality.metrics import Scope, measure
from lakehouse.quality.own_suites import judge_own
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
    silver: Judgement
    bronze: Judgement
    transactions: Judgement
    own: tuple[Judgement, ...]
    verdicts: Mapping[str, Verdict]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for each in self.judgements for finding in each.findings)

    @property
    def bad(self) -> tuple[Finding, ...]:
        """What a person should mend."""
        return tuple(each for each in self.findings if each.verdict is not Verdict.PASSED)

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        return (self.silver, self.bronze, self.transactions, *self.own)

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
    staged = [TableIdentity.of(table.identity) for table in cut.tables if table.changed]
    facts = column_facts(ledger.schema_versions(name), context.source, context.run_id, staged)
    changed = targets(context.source, cut, base, facts)
    landed = landed_ranges(ledger.runs(name), context.run_id, context.run_started)
    silver, bronze = measure(context.spark, name, changed, landed, scope)
    measured = time.monotonic()
    validation = _judge(cut.cut_id, changed, silver, bronze, _of_transactions(context, cut))
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


def _of_transactions(context: StepContext, cut: StagedCut) -> tuple[Measurement, ...]:
    """What apply counted while it looked for whole transactions."""
    topic = context.source.kafka.transactions
    return (Measurement(topic, cut.marks, {}),) if topic is not None and cut.marks else ()


def _judge(
    cut_id: str,
    changed: Sequence[Target],
    silver: Sequence[Measurement],
    bronze: Sequence[Measurement],
    transactions: Sequence[Measurement],
) -> _Validation:
    of_silver, of_bronze = judge(SUITES["silver"], silver), judge(SUITES["bronze"], bronze)
    own = judge_own({target.silver: target.rules for target in changed}, silver)
    of_tables = [*of_silver.findings, *(finding for each in own for finding in each.findings)]
    return _Validation(
        cut_id=cut_id,
        silver=of_silver,
        bronze=of_bronze,
        transactions=judge(SUITES["transactions"], transactions),
        own=own,
        verdicts=table_verdicts(changed, of_tables, of_bronze.findings),
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
    write_docs(root / "docs", key, validation.judgements)
    return StepOutcome(
        message=_sentence(validation),
        counts={
            "passed": len(validation.findings) - len(validation.bad),
            "failed": len(validation.bad),
        },
        detail={
            "verdict": validation.verdict.value,
            "verdicts": {table: verdict.value for table, verdict in validation.verdicts.items()},
            "cut_id": validation.cut_id,
            "report": str(root / key / "index.html"),
            "docs": str(root / "docs" / "index.html"),
            "not_judged": {
                table: list(options.not_judged)
                for table, options in context.source.tables.items()
                if options.not_judged
            },
        },
        batch_id=apply.batch_id,
        exit_code=validation.verdict.exit_code,
    )


def _sentence(validation: _Validation) -> str:
    """The outcome for a person; of failures, the first critical one and how many more."""
    tables, findings = len(validation.verdicts), validation.findings
    if validation.verdict is Verdict.NO_DATA:
        return "no data: nothing landed and no table changed"
    bad = sorted(validation.bad, key=lambda f: f.rule.severity.value != "critical")
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
