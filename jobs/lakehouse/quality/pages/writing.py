"""Writes what a person looks at after a run: its report and the page of its source.

In: the ledger. Out: files below `<home>/reports/<source>`; one that says the same already stays.
"""

from __future__ import annotations

from pathlib import Path

from lakehouse.quality.pages.building import source_page
from lakehouse.quality.pages.reading import read_source
from lakehouse.quality.reports.files import write_text
from lakehouse.quality.reports.report_files import reports_folder, template, write_report
from lakehouse.quality.reports.summary import Recent, read_recent, report_of
from lakehouse.spark.control.ledger import Ledger


def write_pages(home: Path, ledger: Ledger, source: str, connector: str, run_id: str) -> Path:
    """Write the report of a run that has a row in `quality.runs`, and the page of its source.

    Returns:
        The report's page.
    """
    recent = read_recent(ledger, source)
    page = write_report(home, report_of(ledger, source, run_id, recent))
    write_source_page(home, ledger, source, connector, recent)
    return page


def write_source_page(
    home: Path, ledger: Ledger, source: str, connector: str, recent: Recent
) -> Path:
    """Write the data-quality page of a source of which a run is recorded.

    Returns:
        The page.
    """
    records = read_source(ledger, source, connector, recent)
    root = reports_folder(home, source)
    reports = {path.parent.name for path in root.glob("*/report.json")}
    text = template("source.html").render(page=source_page(records), reports=reports)
    write_text(root / "index.html", text)
    return root / "index.html"
