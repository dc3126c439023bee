"""Makes the pictures of the README again: `.venv/bin/python -m tests.screenshots`.

The pages are those of a made-up source (`tests/support/quality_story.py`); a chromium shows them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.support.chromium import MISSING, launch
from tests.support.quality_pages import write_every_page
from tests.support.quality_story import story

FOLDER = Path(__file__).resolve().parents[1] / "docs"
WIDTH = 1280
# Picture → page, where the picture begins (the text of a heading; empty for the top), its height.
PICTURES = {
    "data-quality": ("index.html", "", 1080),
    "data-quality-tables": ("index.html", "Tables", 1000),
    "data-quality-schema": ("index.html", "Schema history", 760),
    "report": ("00000030/index.html", "", 1080),
    "report-of-a-failed-run": ("scheduled__2026-03-02T11_30/index.html", "", 640),
    "reports": ("reports.html", "", 330),
    "data-docs-index": ("docs/index.html", "", 380),
    "data-docs-suite": ("docs/expectations/bronze.html", "", 560),
    "data-docs": ("docs/validations/00000030/silver.html", "", 900),
}


def main() -> int:
    """Write every picture; returns the exit code."""
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        write_every_page(Path(home), story("shop"))
        browser = launch(playwright)
        if browser is None:
            print(MISSING, file=sys.stderr)
            return 1
        for name, (page, heading, height) in PICTURES.items():
            target = FOLDER / f"{name}.png"
            _take(browser, Path(home) / "reports" / "shop" / page, heading, height, target)
            print(f"{target.name}: {target.stat().st_size // 1000} kB")
    return 0


def _take(browser: Browser, path: Path, heading: str, height: int, target: Path) -> None:
    page = browser.new_page(viewport={"width": WIDTH, "height": height})
    page.goto(path.as_uri())
    top = 0.0
    if heading:
        box = page.get_by_role("heading", name=heading, exact=True).bounding_box()
        top = box["y"] - 16 if box else 0.0
    clip = {"x": 0.0, "y": top, "width": float(WIDTH), "height": float(height)}
    page.screenshot(path=target, clip=clip, full_page=True)
    page.close()


if __name__ == "__main__":
    sys.exit(main())
