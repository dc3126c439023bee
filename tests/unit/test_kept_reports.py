"""Which report is that of a try of a run, by the files alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from lakehouse.quality.judgement import Verdict
from lakehouse.quality.reports.kept import (
    note_page,
    report_of_try,
    sources_page,
    sources_with_reports,
)
from lakehouse.quality.reports.report import Report
from lakehouse.quality.reports.report_files import reports_folder, write_report

FIRST = datetime(2026, 11, 1, 12, 0, 0, 123456, tzinfo=UTC)
SECOND = FIRST + timedelta(hours=1)


def report(started: datetime | None, cut: str, validated: datetime) -> Report:
    return Report(
        source="inventory",
        run_id="scheduled__1",
        run_started="" if started is None else started.isoformat(),
        cut_id=cut,
        verdict=Verdict.PASSED,
        message=f"<b>{cut}</b>",
        validated_at=validated.isoformat(),
    )


def found(home: Path, started: datetime | None, run_id: str = "scheduled__1") -> str | None:
    kept = report_of_try(home, "inventory", run_id, started)
    return kept and kept.folder


def test_each_try_of_a_run_has_its_own_report(tmp_path: Path) -> None:
    write_report(tmp_path, report(None, "cut_00000001", FIRST))
    write_report(tmp_path, report(FIRST, "cut_00000002", FIRST))
    write_report(tmp_path, report(SECOND, "cut_00000003", SECOND))
    write_report(tmp_path, report(SECOND, "cut_00000004", SECOND + timedelta(seconds=9)))

    assert found(tmp_path, FIRST) == "cut_00000002"
    assert found(tmp_path, SECOND) == "cut_00000004"
    assert found(tmp_path, SECOND + timedelta(hours=1)) is None
    assert found(tmp_path, None) is None
    assert found(tmp_path, FIRST, "scheduled__2") is None


def test_a_report_of_an_older_version_is_that_of_no_try(tmp_path: Path) -> None:
    folder = reports_folder(tmp_path, "inventory") / "cut_00000001"
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text('{"cut_id": "cut_00000001"}')

    assert found(tmp_path, FIRST) is None


def test_the_overview_shows_the_newest_report_of_each_source_as_text(tmp_path: Path) -> None:
    write_report(tmp_path, report(FIRST, "cut_00000001", FIRST))
    write_report(tmp_path, report(SECOND, "cut_00000002", SECOND))

    assert sources_with_reports(tmp_path) == ["inventory"]
    page = sources_page(tmp_path, ["inventory"])
    assert 'href="sources/inventory/index.html"' in page
    assert "&lt;b&gt;cut_00000002&lt;/b&gt;" in page
    assert "cut_00000001" not in page
    assert "No report yet" in sources_page(tmp_path, [])


def test_a_note_shows_hostile_text_as_text(tmp_path: Path) -> None:
    page = note_page("<script>alert(1)</script>", "why", "/lakehouse/'\"><script>")

    assert "<script>" not in page
    assert 'http-equiv="refresh"' not in page
    assert 'http-equiv="refresh"' in note_page("run", "why", again=True)
