"""What a run left in the control tables, as the demonstration shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from expectations import counts_as_passed
from lakehouse.plan.records import RESULTS, STEPS, CutRow, ResultRow, RunRow
from lakehouse.quality.reports.run_report import newest_of_each
from lakehouse.spark.control.ledger import Ledger

# The law of design and documentation: the first two terms equal the sum of the others.
LEFT = ("landed", "pending_before")
RIGHT = ("applied", "superseded", "quarantined", "control", "pending_after")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of one source.

    Attributes:
        steps: The newest row of each step that ran.
        law: The sum of each term of the conservation law over all topic partitions.
        is_conserved: Whether the law holds in each of them: a message has exactly one place.
        passed: Expectations that held, and what is only told, as the report counts them.
        failed: Those that did not, as sentences with their severity.
        report: Where the report is; empty without one.
    """

    source: str
    steps: Mapping[str, RunRow]
    cut: CutRow | None
    law: Mapping[str, int]
    is_conserved: bool
    passed: int
    failed: tuple[str, ...]
    report: str

    @property
    def is_published(self) -> bool:
        """Whether the newest published cut is this run's."""
        publish = self.steps.get("publish")
        return self.cut is not None and publish is not None and publish.status == "succeeded"


def load_outcome(ledger: Ledger, source: str, run_id: str) -> Outcome:
    """The rows of a run, the newest try of each step."""
    rows = {row.step: row for row in ledger.runs(source) if row.run_id == run_id}
    steps: dict[str, RunRow] = {step: rows[step] for step in STEPS if step in rows}
    results = newest_of_each(
        row
        for row in ledger.rows(RESULTS, source=source, run_id=run_id)
        if isinstance(row, ResultRow)
    )
    counts = json.loads(rows["apply"].counts) if "apply" in rows else {}
    validated = json.loads(rows["validate"].detail) if "validate" in rows else {}
    return Outcome(
        source=source,
        steps=steps,
        cut=ledger.newest_cut(source),
        law=law_terms(counts),
        is_conserved=law_holds(counts),
        passed=sum(map(_holds, results)),
        failed=tuple(
            f"{row.severity}: {row.suite} on {row.table}: {row.description}"
            for row in results
            if not _holds(row)
        ),
        report=str(validated.get("report", "")),
    )


def _holds(row: ResultRow) -> bool:
    return counts_as_passed(success=row.success, severity=row.severity)


def law_terms(counts: object) -> dict[str, int]:
    """The sum of each term, however deep it stands: by topic partition, split by reason."""
    sums: dict[str, int] = {}
    for term, number in _terms(counts, None):
        sums[term] = sums.get(term, 0) + number
    return sums


def law_holds(counts: Mapping[str, object]) -> bool:
    """Whether the law holds in each topic partition; not where nothing was counted."""
    laws = [terms for place in counts.values() if (terms := law_terms(place))]
    return bool(laws) and all(
        sum(terms.get(term, 0) for term in LEFT) == sum(terms.get(term, 0) for term in RIGHT)
        for terms in laws
    )


def _terms(found: object, inside: str | None) -> Iterator[tuple[str, int]]:
    if isinstance(found, Mapping):
        for name, value in found.items():
            yield from _terms(value, inside or (name if name in LEFT + RIGHT else None))
    elif isinstance(found, int) and inside is not None:
        yield inside, found
