"""The reports that are kept, by their files alone: what Airflow's pages need to find them.

In: the folders below `<home>/reports`. Out: which sources have reports, which report is that of one
try of a run, and the two small pages that stand before them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lakehouse.quality.reports.report_files import reports_folder, template


@dataclass(frozen=True, slots=True)
class Kept:
    """A report on disk.

    Attributes:
        folder: Its name below the source's folder.
        summary: What the list of reports says of it.
    """

    folder: str
    summary: Mapping[str, str]


def sources_with_reports(home: Path) -> list[str]:
    """The sources of which a report is kept, by name."""
    return sorted(
        path.parent.parent.name for path in (home / "reports").glob("*/latest/index.html")
    )


def report_of_try(home: Path, source: str, run_id: str, started: datetime | None) -> Kept | None:
    """The newest report of one try of a run.

    Args:
        home: `LAKEHOUSE_HOME`.
        source: The source.
        run_id: The run, as `quality.runs` has it.
        started: When this try began; a cleared run keeps its id. None for a run that has not begun.

    Returns:
        None where no report of this try is kept, or not yet.
    """
    if started is None:
        return None
    found = [
        Kept(path.parent.name, summary)
        for path in reports_folder(home, source).glob("*/summary.json")
        if not path.parent.is_symlink()
        if _is_of(summary := _read(path), run_id, started)
    ]
    return max(found, key=lambda kept: kept.summary["validated_at"], default=None)


def sources_page(home: Path, sources: Iterable[str]) -> str:
    """The page that leads to the data quality of each source.

    Args:
        home: `LAKEHOUSE_HOME`.
        sources: Those that are shown, each with a report.
    """
    newest = [
        (name, _read(reports_folder(home, name) / "latest" / "summary.json")) for name in sources
    ]
    return template("sources.html").render(sources=newest)


def note_page(title: str, sentence: str, way_out: str = "", *, again: bool = False) -> str:
    """A page that says why there is no report.

    Args:
        title: What was asked for.
        sentence: Why it is not there.
        way_out: The address of the source's page; empty where there is none.
        again: Whether the browser asks again by itself, since a report is to come.
    """
    page = template("note.html")
    return page.render(title=title, sentence=sentence, way_out=way_out, again=again)


def _read(path: Path) -> Mapping[str, str]:
    found: Mapping[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _is_of(summary: Mapping[str, str], run_id: str, started: datetime) -> bool:
    if summary.get("run_id") != run_id:
        return False
    text = summary.get("run_started")
    return bool(text) and datetime.fromisoformat(text or "") == started
