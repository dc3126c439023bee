"""A real browser: a chromium, driven by Playwright, without a way to any network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of a test run."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        if program is None and not Path(own).exists():
            pytest.skip(
                f"no browser: put one of {', '.join(_PROGRAMS)} on PATH (Debian: the package "
                "chromium), or without root do `.venv/bin/playwright install chromium`"
            )
        # A name that were looked up would fail, and the request be seen all the same.
        arguments = ["--host-resolver-rules=MAP * ~NOTFOUND"]
        started = playwright.chromium.launch(executable_path=program or own, args=arguments)
        yield started
        started.close()
