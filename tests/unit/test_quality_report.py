"""Reports: whole, listed, offline, and harmless whatever names and values they show."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from expectations import SUITES
from lakehouse.quality.docs import write_docs
from lakehouse.quality.judgement import Measurement, judge
from lakehouse.quality.report import (
    Report,
    ReportTable,
    report_findings,
    reports_folder,
    shown,
    write_report,
)
from tests.expectations.samples import GOOD

HOSTILE = "<script>alert(1)</script>\"'><img src=//evil.example/x onerror=alert(2)>\u202egnp"


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
    """The pages of one run with hostile names everywhere."""
    home = tmp_path_factory.mktemp("reports")
    bad = GOOD["silver"] | {"duplicate_keys": 2}
    silver = judge(
        SUITES["silver"],
        [Measurement(f"silver_s.{HOSTILE}", bad, {"duplicate_keys": HOSTILE})],
    )
    bronze = judge(SUITES["bronze"], [Measurement("t/0", GOOD["bronze"], {})])
    report = Report(
        source="s",
        run_id=HOSTILE,
        run_started="2026-01-01T00:00:00+00:00",
        cut_id="00000001",
        verdict="failed",
        message=HOSTILE,
        validated_at="2026-01-01T00:00:01+00:00",
        tables=(ReportTable(HOSTILE, HOSTILE, "failed", 1, 1),),
        findings=report_findings((*silver.findings, *bronze.findings)),
        counts={HOSTILE: 1},
    )
    folder = reports_folder(home, "s")
    write_docs(folder / "docs", report.key, (silver, bronze))
    write_report(home, report)
    return sorted(folder.rglob("*.html"))


def test_a_run_has_its_report_its_lists_and_its_data_docs(pages: list[Path]) -> None:
    root = next(page for page in pages if page.name == "index.html" and page.parent.name == "s")

    assert {page.relative_to(root.parent).as_posix() for page in pages} >= {
        "index.html",
        "00000001/index.html",
        "docs/index.html",
        "docs/expectations/bronze.html",
        "docs/expectations/silver.html",
        "docs/validations/00000001/bronze.html",
        "docs/validations/00000001/silver.html",
    }
    assert (root.parent / "latest" / "report.json").is_file()


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


def test_our_pages_show_steering_characters_as_numbers(pages: list[Path]) -> None:
    ours = [page for page in pages if "docs" not in page.parts]

    assert all("\u202e" not in page.read_text(encoding="utf-8") for page in ours)


def test_the_json_document_has_everything(pages: list[Path]) -> None:
    page = next(
        page for page in pages if page.parent.name == "00000001" and page.name == "index.html"
    )
    document = json.loads((page.parent / "report.json").read_text(encoding="utf-8"))

    assert document["verdict"] == "failed"
    assert document["tables"][0]["identity"] == HOSTILE
    assert len(document["findings"]) == sum(len(SUITES[s].rules) for s in ("silver", "bronze"))


def test_long_text_is_cut_and_says_so() -> None:
    assert shown("x" * 1_000_000) == "x" * 500 + " … (999500 more characters)"


def test_a_cut_id_cannot_leave_the_folder(tmp_path: Path) -> None:
    report = Report("s", "../../run", "", "", "error", "not validated", "2026-01-01")

    page = write_report(tmp_path, report)

    assert page.resolve().is_relative_to(reports_folder(tmp_path, "s").resolve())
