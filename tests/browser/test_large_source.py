"""A source with 50 tables and 30 runs: its pages are made in seconds and open by themselves."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser

from lakehouse.config import Settings
from lakehouse.quality.pages.writing import write_pages
from lakehouse.spark.control.ledger import Ledger
from tests.support.quality_story import story

TABLES, RUNS = 50, 30
# Of CPU: the wall clock would tell what else the machine does.
MOST_SECONDS = 20


def test_the_pages_of_50_tables_and_30_runs_take_seconds(
    browser: Browser, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    told = story("large", tables=TABLES, runs=RUNS)
    told.write(Ledger(settings))
    ledger, begun = Ledger(settings), time.process_time()
    newest = max(row.run_id for row in ledger.runs("large"))

    report = write_pages(tmp_path, ledger, "large", "mysql", newest)
    page = report.parents[1] / "index.html"

    seconds, size = time.process_time() - begun, page.stat().st_size // 1000
    figure(f"pages of {TABLES} tables and {RUNS} runs: {seconds:.1f} s of CPU, {size} kB")
    assert seconds < MOST_SECONDS
    for path in (report, page):
        requests: list[str] = []
        shown = browser.new_page()
        shown.on("request", lambda request, found=requests: found.append(request.url))
        shown.goto(path.as_uri(), wait_until="networkidle")
        assert requests == [path.as_uri()]
        assert shown.locator("h1").inner_text().endswith("large" if path is page else "00000030")
        shown.close()
    assert page.read_text(encoding="utf-8").count("silver_large.shop__") >= TABLES
