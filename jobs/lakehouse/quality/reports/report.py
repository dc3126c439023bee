"""The report of one run, as values: the pages and the command `report` are made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from expectations import Severity, counts_as_passed
from lakehouse.plan.records import FULL, QuarantineRow
from lakehouse.quality.judgement import Verdict
from lakehouse.quality.reports.files import folder_name

Place = tuple[str, int, int]
MESSAGES_SHOWN = 20
_SEVERITIES = tuple(map(str, Severity))


@dataclass(frozen=True, slots=True)
class ReportStep:
    """One step of the run."""

    step: str
    status: str
    message: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A silver table in a report."""

    silver: str
    identity: str
    verdict: str
    rows: int | None
    changed_rows: int | None


@dataclass(frozen=True, slots=True)
class Sample:
    """A row for which an expectation fails.

    Attributes:
        key: Its event key as silver has it, masks included; empty where it has none.
        messages: Topic, partition and offset of each message of it that was found.
        query: Shows those messages, and all others with their event key.
    """

    key: str
    messages: tuple[Place, ...]
    query: str


@dataclass(frozen=True, slots=True)
class ReportFinding:
    """An expectation in a report."""

    suite: str
    subject: str
    rule: str
    description: str
    severity: str
    success: bool
    observed: Mapping[str, int | str | None]
    expected: str
    problem: str
    samples: tuple[Sample, ...] = ()

    @property
    def counts_as_passed(self) -> bool:
        """Whether nothing is to be mended."""
        return counts_as_passed(success=self.success, severity=self.severity)

    @property
    def messages(self) -> tuple[Place, ...]:
        """The messages of all samples."""
        return tuple(place for sample in self.samples for place in sample.messages)


@dataclass(frozen=True, slots=True)
class QuarantinedMessage:
    """A message in quarantine, as pages show it.

    Attributes:
        at: Its topic, partition and offset.
        table: The source table as the TOML file names it; empty where the message names none.
        reason: The code of why.
        detail: What that means, or the columns.
    """

    at: Place
    table: str
    reason: str
    detail: str

    @classmethod
    def of(cls, row: QuarantineRow) -> Self:
        """The message of a row of `quality.quarantine`."""
        return cls((row.topic, row.partition, row.offset), row.table, row.reason, row.detail)


@dataclass(frozen=True, slots=True)
class Report:
    """What became of one run.

    Attributes:
        cut_id: The cut that was validated; empty where none was.
        verdict: The worst of all; `error` where a step failed.
        message: The outcome in one sentence.
        validated_at: When it was validated, else when its last step ended.
        notes: What a person should know that no expectation says, in sentences.
        not_validated: The tables whose rows nothing was said about, though they were meant to be.
        conservation: The law's counts, summed over topic partitions.
        scope: `full` where all rows of a published cut were judged.
        quarantine: The first of the messages that it set aside; `conservation` counts all.
    """

    source: str
    run_id: str
    run_started: str
    cut_id: str
    verdict: Verdict
    message: str
    validated_at: str
    steps: tuple[ReportStep, ...] = ()
    notes: tuple[str, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    not_validated: tuple[str, ...] = ()
    findings: tuple[ReportFinding, ...] = ()
    conservation: Mapping[str, int] = field(default_factory=dict)
    scope: str = ""
    quarantine: tuple[QuarantinedMessage, ...] = ()

    @property
    def name(self) -> str:
        """What it is listed as."""
        return report_name(self.run_id, self.cut_id, self.scope)

    @property
    def key(self) -> str:
        """The name of the report's folder."""
        return folder_name(self.name)

    @property
    def failed(self) -> tuple[ReportFinding, ...]:
        """What did not pass, the critical first."""
        bad = [finding for finding in self.findings if not finding.success]
        return tuple(sorted(bad, key=lambda f: (_SEVERITIES.index(f.severity), f.suite, f.subject)))

    @property
    def verdicts(self) -> dict[str, str]:
        """Silver table → verdict."""
        return {table.silver: table.verdict for table in self.tables}


def report_name(run_id: str, cut_id: str, scope: str) -> str:
    """What a run's report is listed as: the cut that it made, else the run.

    Args:
        run_id: The run.
        cut_id: The cut that it judged; empty for none.
        scope: Whether it judged its own changes, or all of a cut that another run made.
    """
    return run_id if scope == FULL else cut_id or run_id


def passed_by_suite(findings: Sequence[ReportFinding]) -> dict[str, tuple[int, int]]:
    """Suite → how many expectations passed and how many did not."""
    return {
        suite: (
            sum(f.counts_as_passed for f in findings if f.suite == suite),
            sum(not f.counts_as_passed for f in findings if f.suite == suite),
        )
        for suite in sorted({finding.suite for finding in findings})
    }
