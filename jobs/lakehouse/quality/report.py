"""The report of one validation: a JSON document, a page made from it, and the list of reports.

In: what validation found. Out: `<home>/reports/<source>/<cut>/report.json` and `index.html`, the
link `latest`, and `<home>/reports/<source>/index.html`. Pages hold everything they show; all text
is escaped by the template engine, cut to a length, and shown without characters that steer the
direction or the terminal.
"""

from __future__ import annotations

import json
import shutil
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from expectations import SUITES
from lakehouse.plan.records import ResultRow
from lakehouse.quality.files import folder_name, point_to, write_text
from lakehouse.quality.judgement import Finding, Verdict

MAX_TEXT = 500
KEPT_REPORTS = 500
_TEMPLATES = Path(__file__).parent / "templates"

Counts = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A silver table in a report."""

    silver: str
    identity: str
    verdict: str
    rows: int | None
    changed_rows: int | None


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


@dataclass(frozen=True, slots=True)
class Report:
    """What one validation found.

    Attributes:
        cut_id: The cut that was validated; the run id stands in where there is none.
        message: The outcome in one sentence.
        counts: The conservation counts of `apply`.
    """

    source: str
    run_id: str
    run_started: str
    cut_id: str
    verdict: str
    message: str
    validated_at: str
    tables: tuple[ReportTable, ...] = ()
    findings: tuple[ReportFinding, ...] = ()
    counts: Counts = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name of the report's folder."""
        return folder_name(self.cut_id or self.run_id)

    @property
    def failed(self) -> tuple[ReportFinding, ...]:
        """What did not pass, the critical first."""
        bad = [finding for finding in self.findings if not finding.success]
        return tuple(sorted(bad, key=lambda f: (f.severity != "critical", f.suite, f.subject)))


def report_findings(findings: Iterable[Finding]) -> tuple[ReportFinding, ...]:
    """Findings as a report has them."""
    return tuple(
        ReportFinding(
            suite=finding.suite,
            subject=finding.subject,
            rule=finding.rule.name,
            description=finding.rule.description,
            severity=finding.rule.severity.value,
            success=finding.success,
            observed=finding.observed,
            expected=finding.rule.expected,
            problem=finding.problem,
        )
        for finding in findings
    )


def recorded_findings(rows: Iterable[ResultRow]) -> tuple[ReportFinding, ...]:
    """Rows of `quality.results` as a report has them."""
    found = []
    for row in rows:
        observed = json.loads(row.observed)
        problem = observed.pop("problem", "")
        found.append(
            ReportFinding(
                suite=row.suite,
                subject=row.table,
                rule=row.expectation,
                description=row.description,
                severity=row.severity,
                success=row.success,
                observed=observed,
                expected=row.expected,
                problem=problem,
            )
        )
    return tuple(found)


def reports_folder(home: Path, source: str) -> Path:
    """Where the reports of a source are."""
    return home / "reports" / source


def write_report(home: Path, report: Report) -> Path:
    """Write a report, point `latest` to it and list it.

    Returns:
        The report's page.
    """
    root = reports_folder(home, report.source)
    folder = root / report.key
    document = asdict(report)
    write_text(folder / "report.json", json.dumps(document, indent=1, sort_keys=True) + "\n")
    page = folder / "index.html"
    environment = _environment()
    docs = [
        suite
        for suite in SUITES
        if (root / f"docs/validations/{report.key}/{suite}.html").is_file()
    ]
    text = environment.get_template("report.html").render(
        report=report, docs=docs, suites=SUITES, passed=passed_by_suite(report.findings)
    )
    write_text(page, text)
    summary = {
        "cut_id": report.cut_id or report.run_id,
        "verdict": report.verdict,
        "message": report.message,
        "validated_at": report.validated_at,
        "passed": sum(finding.success for finding in report.findings),
        "failed": len(report.failed),
    }
    write_text(folder / "summary.json", json.dumps(summary, sort_keys=True) + "\n")
    point_to(root / "latest", report.key)
    _write_lists(root, environment)
    return page


def passed_by_suite(findings: Sequence[ReportFinding]) -> dict[str, tuple[int, int]]:
    """Suite → how many expectations passed and how many did not."""
    return {
        suite: (
            sum(f.success for f in findings if f.suite == suite),
            sum(not f.success for f in findings if f.suite == suite),
        )
        for suite in sorted({finding.suite for finding in findings})
    }


def shown(value: object) -> str:
    """Any value as text for a page: cut to a length, steering characters spelled out."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    rest = len(text) - MAX_TEXT
    cut = text[:MAX_TEXT]
    visible = "".join(_visible(character) for character in cut)
    return f"{visible} … ({rest} more characters)" if rest > 0 else visible


def utc_text(time: datetime) -> str:
    """A time as reports have it."""
    return time.isoformat(timespec="seconds")


def _write_lists(root: Path, environment: Environment) -> None:
    """The list of reports, newest first, and the start page of the Data Docs; old ones go."""
    entries = [
        (path.parent.name, json.loads(path.read_text(encoding="utf-8")))
        for path in root.glob("*/summary.json")
        if not path.parent.is_symlink()
    ]
    entries.sort(key=lambda entry: entry[1]["validated_at"], reverse=True)
    for name, _ in entries[KEPT_REPORTS:]:
        shutil.rmtree(root / name, ignore_errors=True)
        shutil.rmtree(root / "docs" / "validations" / name, ignore_errors=True)
    kept = entries[:KEPT_REPORTS]
    reports = environment.get_template("reports.html")
    write_text(root / "index.html", reports.render(source=root.name, entries=kept))
    docs = root / "docs"
    listed = [
        (name, summary, sorted(page.stem for page in (docs / "validations" / name).glob("*.html")))
        for name, summary in kept
    ]
    index = environment.get_template("docs.html")
    write_text(
        docs / "index.html",
        index.render(
            source=root.name,
            entries=[entry for entry in listed if entry[2]],
            suites=[suite for suite in SUITES if (docs / f"expectations/{suite}.html").is_file()],
        ),
    )


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["shown"] = shown
    environment.globals["verdicts"] = [verdict.value for verdict in Verdict]
    return environment


def _visible(character: str) -> str:
    """Control, format and surrogate characters as their number; all others as they are."""
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs")
    if not hidden or character in "\n\t":
        return character
    return f"\\u{ord(character):04x}"
