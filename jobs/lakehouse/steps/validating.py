"""Validation as both of its scopes share it: metrics judged, and what they come to recorded.

In: measurements. Out: rows of `quality.results`, Data Docs, and the step's outcome. What could not
be judged is an error, and what had nothing to judge is "no data": neither is ever "passed".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from expectations import SUITES
from lakehouse.names import TableIdentity
from lakehouse.plan.records import RESULTS
from lakehouse.quality.judgement import Finding, Judgement, Measurement, Verdict, judge, worst
from lakehouse.quality.measuring.metrics import Scope
from lakehouse.quality.measuring.own_suites import judge_own
from lakehouse.quality.measuring.results import (
    Try,
    alarms,
    blocking,
    refusal,
    result_rows,
    table_verdicts,
)
from lakehouse.quality.measuring.samples import Samples
from lakehouse.quality.measuring.staged import Target
from lakehouse.quality.reports.docs import write_docs
from lakehouse.quality.reports.files import folder_name
from lakehouse.quality.reports.report_files import reports_folder
from lakehouse.steps.context import StepContext, StepOutcome

_EXTENT = {Scope.CHANGE: "{} changed tables", Scope.FULL: "all rows of {} tables"}


@dataclass(frozen=True, slots=True)
class Validation:
    """What one validation found.

    Attributes:
        scope: Which rows it judged.
        counted: What `apply` counted as it read the messages: it keeps no table back.
        verdicts: Silver table → its verdict.
        blocking: Silver table → the findings for which its rows are not published.
        not_judged: Source table → what of it was not judged, each with its reason.
    """

    cut_id: str
    scope: Scope
    silver: Judgement
    bronze: Judgement
    counted: tuple[Judgement, ...]
    own: tuple[Judgement, ...]
    verdicts: Mapping[str, Verdict]
    blocking: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    not_judged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Those of all suites."""
        return tuple(finding for each in self.judgements for finding in each.findings)

    @property
    def bad(self) -> tuple[Finding, ...]:
        """What a person should mend."""
        return tuple(each for each in self.findings if each.verdict is not Verdict.PASSED)

    @property
    def of_no_table(self) -> tuple[Finding, ...]:
        """The findings about topics that keep no table back."""
        known = [each for findings in self.blocking.values() for each in findings]
        of_topics = (
            *self.bronze.findings,
            *(each for suite in self.counted for each in suite.findings),
        )
        return tuple(each for each in of_topics if each not in known)

    @property
    def kept_back(self) -> tuple[str, ...]:
        """The silver tables whose rows are not published."""
        return tuple(table for table, each in self.verdicts.items() if not each.may_publish)

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """One for each suite."""
        return (self.silver, self.bronze, *self.counted, *self.own)

    @property
    def verdict(self) -> Verdict:
        """The worst of all; a run without changed tables and messages has no data."""
        return worst((*self.verdicts.values(), *(f.verdict for f in self.findings)))


def judge_all(
    cut_id: str,
    scope: Scope,
    changed: Sequence[Target],
    measured: tuple[Sequence[Measurement], Sequence[Measurement]],
    counted: Mapping[str, Sequence[Measurement]],
) -> Validation:
    """Judge what was measured with all suites.

    Args:
        cut_id: The cut.
        scope: Which rows were measured.
        changed: The tables.
        measured: The metrics of the tables and of topic partitions.
        counted: Suite → what `apply` counted for it.
    """
    silver, bronze = measured
    of_silver, of_bronze = judge(SUITES["silver"], silver), judge(SUITES["bronze"], bronze)
    own = judge_own({target.silver: target.rules for target in changed}, silver)
    of_tables = [*of_silver.findings, *(finding for each in own for finding in each.findings)]
    return Validation(
        cut_id=cut_id,
        scope=scope,
        silver=of_silver,
        bronze=of_bronze,
        counted=tuple(judge(SUITES[suite], each) for suite, each in counted.items()),
        own=own,
        verdicts=table_verdicts(changed, of_tables, of_bronze.findings),
        blocking=blocking(changed, of_tables, of_bronze.findings),
        not_judged={
            TableIdentity.of(target.table.identity).full_name: target.not_judged
            for target in changed
            if target.not_judged
        },
    )


def record(
    context: StepContext, validation: Validation, samples: Samples, batch_id: str
) -> StepOutcome:
    """Results and Data Docs; the report is made from the results, once this step has its row."""
    now, scope = datetime.now(UTC), validation.scope
    of = Try(context.source.name, context.run_id, context.run_started, validation.cut_id, scope)
    context.ledger.append(RESULTS, result_rows(of, validation.findings, now, samples))
    root = reports_folder(context.settings.home, context.source.name)
    key = folder_name(context.run_id if scope is Scope.FULL else validation.cut_id)
    write_docs(root / "docs", key, validation.judgements)
    return StepOutcome(
        message=_sentence(validation),
        counts=_counts(validation),
        detail={
            "verdict": validation.verdict.value,
            "verdicts": {table: verdict.value for table, verdict in validation.verdicts.items()},
            "refused": {
                table: refusal(validation.blocking.get(table, ()), samples)
                for table in validation.kept_back
            },
            "alarms": alarms(validation.of_no_table),
            "cut_id": validation.cut_id,
            "scope": scope.value,
            "report": str(root / key / "index.html"),
            "docs": str(root / "docs" / "index.html"),
            "not_judged": {name: list(each) for name, each in validation.not_judged.items()},
        },
        batch_id=batch_id,
        exit_code=validation.verdict.exit_code,
        ends_run=scope is Scope.FULL,
    )


def _counts(validation: Validation) -> dict[str, int]:
    counts = {
        "passed": len(validation.findings) - len(validation.bad),
        "failed": len(validation.bad),
    }
    if validation.scope is Scope.FULL:
        # No later step refuses these tables.
        counts["tables_failed"] = len(validation.kept_back)
    return counts


def _sentence(validation: Validation) -> str:
    """The outcome for a person; of failures, the first critical one and how many more."""
    tables, findings = len(validation.verdicts), validation.findings
    if validation.verdict is Verdict.NO_DATA:
        return "no data: nothing landed and no table changed"
    bad = sorted(validation.bad, key=lambda f: f.rule.severity.value != "critical")
    judged = f"{len(findings)} expectations on {_EXTENT[validation.scope].format(tables)}"
    if not bad:
        return f"{judged}: all passed"
    first = bad[0]
    observed = ", ".join(f"{key} = {value}" for key, value in first.observed.items())
    kept = ", ".join(validation.kept_back)
    rest = f"; kept back: {kept}" if kept else ""
    return (
        f"{judged}: {len(bad)} failed, first {first.rule.severity.value} {first.rule.name} of "
        f"{first.subject}: {first.problem or observed} (expected {first.rule.expected}){rest}"
    )
