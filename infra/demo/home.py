"""A home of its own for the demonstration, new each time, so that nothing else is touched."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from infra.home import lock
from infra.stack import Report, down
from lakehouse.config import Settings, load_source
from lakehouse.config.home import make_private

SOURCES = ("inventory", "shop")


def demo_settings(settings: Settings) -> Settings:
    """Settings of the demonstration: a folder below `LAKEHOUSE_HOME`, its own TOML files."""
    home = settings.home / "demo"
    return Settings.from_environment(
        {"LAKEHOUSE_HOME": str(home), "LAKEHOUSE_SOURCES": str(home / "sources")}
    )


@contextmanager
def alone(demo: Settings) -> Iterator[None]:
    """Hold the demonstration's folder, which the next one removes; freed when the process ends.

    Raises:
        StackError: Another demonstration has it.
    """
    make_private(demo.home.parent)

    def refusal(process: str) -> str:
        return (
            f"A demonstration runs in {str(demo.home)!r} (process {process}): expected none; "
            "end it with Ctrl-C, or choose another LAKEHOUSE_HOME"
        )

    with lock(demo.home.with_suffix(".lock"), refusal):
        yield


def clear(demo: Settings, report: Report) -> None:
    """Stop what an earlier demonstration left running, and remove all that it wrote."""
    for server in down(demo, report=lambda _: None):
        report(f"{server} of an earlier demonstration stopped")
    shutil.rmtree(demo.home, ignore_errors=True)


def write_sources(demo: Settings, originals: Path, *, by_the_clock: bool) -> None:
    """Copy the TOML files of the sources that are shown.

    Args:
        demo: The demonstration's settings.
        originals: The folder of the project's TOML files.
        by_the_clock: Keep the schedule. Otherwise no run starts before next year, so that the
            demonstration alone says when: a run is compared with the database while that rests.
    """
    make_private(demo.sources)
    for name in SOURCES:
        text = (originals / f"{name}.toml").read_text(encoding="utf-8")
        if not by_the_clock:
            text = _without_clock(text)
        (demo.sources / f"{name}.toml").write_text(text, encoding="utf-8")
        load_source(name, demo)


def _without_clock(text: str) -> str:
    year = datetime.now(UTC).year
    text = re.sub(r"(?m)^interval\s*=.*$", 'interval = "0 0 1 1 *"', text)
    return re.sub(r"(?m)^start\s*=.*$", f"start = {year}-01-01T00:00:00Z", text)
