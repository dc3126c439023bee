"""Reports: whole, listed, offline, and harmless whatever names and values they show."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from expectations import SUITES
from lakehouse.quality.judgement import Verdict
from lakehouse.quality.reports.report import Report
from lakehouse.quality.reports.report_files import reports_folder, write_report
from lakehouse.quality.reports.text import shown
from tests.support.quality_pages import hostile, write_every_page
from tests.support.quality_story import STOPPED, story


class Tags(HTMLParser):
    """Collects elements, and every address that a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.addresses: set[str] = set()
        self.handlers: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset", "data", "action"):
                self.addresses.add(value or "")
            if name.startswith("on"):
                self.handlers.add(name)


def tags_of(page: Path) -> Tags:
    tags = Tags()
    tags.feed(page.read_text(encoding="utf-8"))
    return tags


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The pages of a source with hostile names and values everywhere."""
    return write_every_page(tmp_path_factory.mktemp("home"), story("s", tables=3, say=hostile))


def folder_of(pages: list[Path]) -> Path:
    return next(page.parent for page in pages if page.name == "reports.html")


def test_a_source_has_its_page_its_reports_their_list_and_its_data_docs(pages: list[Path]) -> None:
    root = folder_of(pages)

    assert {page.relative_to(root).as_posix() for page in pages} >= {
        "index.html",
        "reports.html",
        "00000030/index.html",
        "docs/index.html",
        "docs/expectations/bronze.html",
        "docs/expectations/silver.html",
        "docs/validations/00000030/bronze.html",
        "docs/validations/00000030/silver.html",
    }
    assert (root / "latest").readlink() == Path("00000030")


def test_pages_load_nothing_from_elsewhere(pages: list[Path]) -> None:
    for page in pages:
        text, tags = page.read_text(encoding="utf-8"), tags_of(page)
        outside = {a for a in tags.addresses if re.match(r"\s*(?:[a-z]+:|//)", a, re.IGNORECASE)}
        assert outside == set(), page
        assert "@import" not in text, page
        assert "url(" not in text, page
        assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text, page


def test_links_between_pages_lead_to_pages(pages: list[Path]) -> None:
    for page in pages:
        for address in tags_of(page).addresses:
            if not address.startswith("#"):
                assert (page.parent / address.partition("#")[0]).exists(), (page, address)


def test_hostile_names_and_values_stay_text(pages: list[Path]) -> None:
    for page in pages:
        tags = tags_of(page)
        assert not tags.names & {"script", "img", "iframe", "object", "form"}, page
        assert tags.handlers == set(), page


def test_pages_show_steering_characters_as_numbers(pages: list[Path]) -> None:
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not set(text) & set("\u202e\u200f\u0000\r"), page


def test_the_json_document_has_everything(pages: list[Path]) -> None:
    text = (folder_of(pages) / "00000030" / "report.json").read_text(encoding="utf-8")
    document = json.loads(text)

    assert document["verdict"] == "failed"
    assert document["tables"][0]["identity"] == f"shop.{hostile('customers')}"
    assert len(document["findings"]) == 3 * sum(len(SUITES[s].rules) for s in ("silver", "bronze"))
    failed = [f for f in document["findings"] if not f["success"]]
    assert all(f["samples"][0]["query"].startswith("SELECT topic,") for f in failed)


@pytest.mark.parametrize(("number", "step"), STOPPED.items())
def test_the_report_of_a_failed_run_says_at_which_step(
    pages: list[Path], number: int, step: str
) -> None:
    reports = [json.loads(path.read_text()) for path in folder_of(pages).glob("*/report.json")]
    (report,) = [
        r
        for r in reports
        if any(s["status"] == "failed" for s in r["steps"]) and r["steps"][-1]["step"] == step
    ]

    assert report["verdict"] == "error"
    assert f"{step} failed: No space left" in report["message"]
    assert [s["status"] for s in report["steps"]][-1] == "failed"
    assert len(report["not_validated"]) == (3 if step == "apply" else 0)


def test_long_text_is_cut_and_says_so() -> None:
    assert shown("x" * 1_000_000) == "x" * 500 + " … (999500 more characters)"


def test_a_cut_id_cannot_leave_the_folder(tmp_path: Path) -> None:
    report = Report("s", "../../run", "", "", Verdict.ERROR, "not validated", "2026-01-01")

    page = write_report(tmp_path, report)

    assert page.resolve().is_relative_to(reports_folder(tmp_path, "s").resolve())


def test_latest_is_the_newest_report_whichever_is_written_last(tmp_path: Path) -> None:
    old = Report("s", "run", "", "1", Verdict.PASSED, "good", "2026-01-01T00:00:00+00:00")
    new = replace(old, cut_id="2", validated_at="2026-01-01T00:00:01+00:00")
    same_second = replace(new, cut_id="3")
    latest = reports_folder(tmp_path, "s") / "latest"

    found = []
    for report in (old, new, old, same_second):
        write_report(tmp_path, report)
        found.append(str(latest.readlink()))

    assert found == ["1", "2", "2", "3"]
