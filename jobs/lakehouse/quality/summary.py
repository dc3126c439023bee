"""What the control tables say about a run's validation, and about the tables of a cut.

In: rows of `quality.runs`, `results`, `cuts` and `schema_versions`. Out: values that the commands
`report` and `tables` print. No Spark.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lakehouse.errors import StepFailed
from lakehouse.names import RETIRED, TableIdentity
from lakehouse.plan.handover import excluded_of, held_of, identities_of
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import (
    RESULTS,
    CutRow,
    QuarantineRow,
    ResultRow,
    RunRow,
)
from lakehouse.plan.replay import open_rows
from lakehouse.quality.judgement import Verdict
from lakehouse.quality.report import ReportFinding, recorded_findings
from lakehouse.spark.ledger import Ledger


@dataclass(frozen=True, slots=True)
class ValidationSummary:
    """One validation, as `lakehouse report` prints it.

    Attributes:
        verdict: The worst of all tables and suites.
        verdicts: Silver table → verdict.
        conservation: The law's counts, summed over topic partitions.
        report: Path of the report's page; empty where none was written.
    """

    source: str
    run_id: str
    cut_id: str
    verdict: Verdict
    message: str
    verdicts: Mapping[str, str]
    findings: tuple[ReportFinding, ...]
    conservation: Mapping[str, int]
    report: str


@dataclass(frozen=True, slots=True)
class TableState:
    """One silver table of a cut, as `lakehouse tables` prints it.

    Attributes:
        identity: Parts of the source table's name, joined by dots.
        state: `live` or `held`.
        cut_id: The newest cut whose rows the table has.
        snapshot_id: None before the table's first cut.
        held_keys: How many of its keys wait for a quarantined event.
    """

    identity: str
    silver: str
    state: str
    reason: str
    cut_id: str
    snapshot_id: int | None
    held_keys: int = 0


def summarise_validation(ledger: Ledger, source: str, cut_id: str | None) -> ValidationSummary:
    """The validation of a cut, or of the newest run.

    Raises:
        StepFailed: Nothing was validated, or not this cut.
    """
    runs = ledger.runs(source)
    if cut_id is None and (stopped := _stopped(runs)):
        return _not_validated(source, runs, stopped)
    rows = [row for row in runs if row.step == "validate" and cut_id in (None, _cut_of(row))]
    if not rows:
        which = f"cut {cut_id!r}" if cut_id else "a run"
        raise StepFailed(
            f"Source {source!r}: {which} was never validated: expected a row of validate in "
            f"quality.runs; do `lakehouse run --source {source}`"
        )
    row = rows[-1]
    if row.status != "succeeded":
        return _not_validated(source, runs, row)
    detail = json.loads(row.detail)
    return ValidationSummary(
        source=source,
        run_id=row.run_id,
        cut_id=detail["cut_id"],
        verdict=Verdict(detail["verdict"]),
        message=row.message,
        verdicts=detail["verdicts"],
        findings=recorded_findings(_results(ledger, row, detail["cut_id"])),
        conservation=_conservation(runs, row.run_id),
        report=detail["report"],
    )


def open_quarantine(ledger: Ledger, source: str) -> tuple[QuarantineRow, ...]:
    """The messages that cannot be applied and wait for a replay, by place; those of every run."""
    cut = ledger.newest_cut(source)
    applied = Progress.from_json(cut.offsets if cut else "").offsets
    return tuple(open_rows(ledger.quarantine(source), applied).values())


def list_tables(ledger: Ledger, source: str, cut_id: str | None) -> tuple[TableState, ...]:
    """The silver tables of a published cut, and those that it leaves behind.

    Raises:
        StepFailed: The source has no such cut.
    """
    cuts = [cut for cut in ledger.cuts(source) if cut.state == "published"]
    cut = next((c for c in reversed(cuts) if cut_id in (None, c.cut_id)), None)
    if cut is None:
        newest = cuts[-1].cut_id if cuts else "none"
        raise StepFailed(
            f"Source {source!r}: cut {cut_id or 'newest'!r} is not published: expected one of its "
            f"cuts, the newest is {newest}; do `lakehouse run --source {source}`"
        )
    behind, identities = excluded_of(cut), _identities(ledger, source, cut)
    names, held = sorted({*identities_of(cut), *behind}), held_of(cut)
    return tuple(
        TableState(
            identity=identities.get(name, ""),
            silver=name,
            state=_state(name, behind),
            reason=behind[name].reason if name in behind else "",
            cut_id=behind[name].cut if name in behind else cut.cut_id,
            snapshot_id=cut.tables.get(name),
            held_keys=held.get(name, 0),
        )
        for name in names
    )


def _state(name: str, behind: Container[str]) -> str:
    if RETIRED.search(name):
        return "retired"
    return "held" if name in behind else "live"


def conservation_totals(counts: Mapping[str, object]) -> dict[str, int]:
    """The law's counts summed over topic partitions, from `counts` of a row of apply."""
    total: Counter[str] = Counter()
    for law in counts.values():
        if isinstance(law, Mapping):
            total.update({name: n for name, n in law.items() if isinstance(n, int)})
    return dict(total)


def _stopped(runs: Sequence[RunRow]) -> RunRow | None:
    """The failed step of the newest run, when it never came to validate."""
    mine = [row for row in runs if runs and row.run_id == runs[-1].run_id]
    if any(row.step == "validate" for row in mine) or not mine:
        return None
    return mine[-1] if mine[-1].status != "succeeded" else None


def _not_validated(source: str, runs: Sequence[RunRow], row: RunRow) -> ValidationSummary:
    return ValidationSummary(
        source=source,
        run_id=row.run_id,
        cut_id="",
        verdict=Verdict.ERROR,
        message=f"not validated: {row.step} {row.status}: {row.message}",
        verdicts={},
        findings=(),
        conservation=_conservation(runs, row.run_id),
        report="",
    )


def _conservation(runs: Iterable[RunRow], run_id: str) -> dict[str, int]:
    applied = [row for row in runs if row.step == "apply" and row.run_id == run_id]
    return conservation_totals(json.loads(applied[-1].counts)) if applied else {}


def _results(ledger: Ledger, row: RunRow, cut_id: str) -> list[ResultRow]:
    """The results of one validation, and those of `check` in the same run."""
    found = [
        result
        for result in ledger.rows(RESULTS, source=row.source, run_id=row.run_id)
        if isinstance(result, ResultRow) and result.validated_at <= row.ended_at
    ]
    return newest_of_each([result for result in found if result.cut in ("", cut_id)])


def newest_of_each(results: Iterable[ResultRow]) -> list[ResultRow]:
    """Of each suite, the results of its newest validation."""
    results = list(results)
    newest = {
        suite: max(result.validated_at for result in results if result.suite == suite)
        for suite in {result.suite for result in results}
    }
    return sorted(
        (result for result in results if result.validated_at == newest[result.suite]),
        key=lambda result: (result.suite, result.table, result.expectation),
    )


def _identities(ledger: Ledger, source: str, cut: CutRow) -> dict[str, str]:
    found = {f"silver_{source}.{row.table}": row.identity for row in ledger.schema_versions(source)}
    members = {name: json.loads(text) for name, text in found.items()} | dict(identities_of(cut))
    return {name: TableIdentity.of(parts).full_name for name, parts in members.items()}


def _cut_of(row: RunRow) -> str:
    return str(json.loads(row.detail).get("cut_id", ""))
