"""One browser for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.support.chromium import MISSING, launch


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of a test run."""
    with sync_playwright() as playwright:
        started = launch(playwright)
        if started is None:
            pytest.skip(MISSING)
        yield started
        started.close()
