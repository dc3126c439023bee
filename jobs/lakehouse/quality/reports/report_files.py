"""The files of reports: a document and a page for each run, the list of them, Data Docs' index.

In: a `Report`. Out: `<home>/reports/<source>/<cut>/report.json` and `index.html`, the link
`latest`, and `<home>/reports/<source>/reports.html`. Pages hold everything they show; all text is
escaped by the template engine, cut to a length, and shown without characters that steer the
direction or the terminal.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, Template

from expectations import SUITES
from lakehouse.quality.reports.files import point_to, write_text
from lakehouse.quality.reports.report import Report, passed_by_suite
from lakehouse.quality.reports.text import shown, time_text

KEPT_REPORTS = 500
_TEMPLATES = Path(__file__).parent / "templates"


def reports_folder(home: Path, source: str) -> Path:
    """Where the reports of a source are."""
    return home / "reports" / source


def report_page(home: Path, report: Report) -> Path:
    """Where the page of a report is, written or not."""
    return reports_folder(home, report.source) / report.key / "index.html"


def write_report(home: Path, report: Report) -> Path:
    """Write a report, point `latest` to it and list it.

    Returns:
        The report's page.
    """
    page = report_page(home, report)
    folder, root = page.parent, page.parents[1]
    document = asdict(report)
    write_text(folder / "report.json", json.dumps(document, indent=1, sort_keys=True) + "\n")
    docs = [
        suite
        for suite in SUITES
        if (root / f"docs/validations/{report.key}/{suite}.html").is_file()
    ]
    passed = passed_by_suite(report.findings)
    text = template("report.html").render(report=report, docs=docs, suites=SUITES, passed=passed)
    write_text(page, text)
    summary = {
        "cut_id": report.name,
        "run_id": report.run_id,
        "run_started": report.run_started,
        "verdict": report.verdict,
        "message": report.message,
        "validated_at": report.validated_at,
        "passed": sum(finding.counts_as_passed for finding in report.findings),
        "failed": sum(not finding.counts_as_passed for finding in report.findings),
    }
    write_text(folder / "summary.json", json.dumps(summary, sort_keys=True) + "\n")
    entries = _entries(root)
    # An old report may be written again; of two within a second the later one counts.
    if report.validated_at >= entries[0][1]["validated_at"]:
        point_to(root / "latest", report.key)
    _write_lists(root, entries)
    return page


def _entries(root: Path) -> list[tuple[str, dict[str, str]]]:
    """Folder and summary of each report, newest first."""
    entries = [
        (path.parent.name, json.loads(path.read_text(encoding="utf-8")))
        for path in root.glob("*/summary.json")
        if not path.parent.is_symlink()
    ]
    return sorted(entries, key=lambda entry: entry[1]["validated_at"], reverse=True)


def _write_lists(root: Path, entries: list[tuple[str, dict[str, str]]]) -> None:
    """The list of reports and the start page of the Data Docs; reports that are too old go."""
    for name, _ in entries[KEPT_REPORTS:]:
        shutil.rmtree(root / name, ignore_errors=True)
        shutil.rmtree(root / "docs" / "validations" / name, ignore_errors=True)
    kept = entries[:KEPT_REPORTS]
    write_text(
        root / "reports.html", template("reports.html").render(source=root.name, entries=kept)
    )
    docs = root / "docs"
    listed = [
        (name, summary, sorted(page.stem for page in (docs / "validations" / name).glob("*.html")))
        for name, summary in kept
    ]
    suites = [suite for suite in SUITES if (docs / f"expectations/{suite}.html").is_file()]
    judged = [entry for entry in listed if entry[2]]
    text = template("docs.html").render(source=root.name, entries=judged, suites=suites)
    write_text(docs / "index.html", text)


def template(name: str) -> Template:
    """A template of ours; it escapes what it shows."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"shown": shown, "time": time_text}
    return environment
