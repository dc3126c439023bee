"""A real browser: the chromium on PATH, or Playwright's own, with no way to any other machine."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import Browser, Playwright

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
MISSING = (
    f"no browser: put one of {', '.join(_PROGRAMS)} on PATH (Debian: the package chromium), or "
    "without root do `.venv/bin/playwright install chromium`"
)


def launch(playwright: Playwright) -> Browser | None:
    """Start it; None where there is none."""
    found = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    program = found or playwright.chromium.executable_path
    if not Path(program).exists():
        return None
    # A name that were looked up would fail, and the request be seen all the same.
    arguments = ["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]
    return playwright.chromium.launch(executable_path=program, args=arguments)
