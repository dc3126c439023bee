"""Runs of one source in a home on a small disk, which is full during the second run.

    python -m tests.support.full_disk HOME FIRST SECOND [WORK FAILPOINT]

HOME is the disk; FIRST and SECOND are topic archives elsewhere. WORK is `run` or `maintain` (as a
month later); the disk is full from FAILPOINT on, such as `apply.before_write:2`, or from the
beginning. Prints one JSON document.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.plan.records import MAINTAIN, STEPS
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.session import spark_session
from lakehouse.steps.context import StepContext
from lakehouse.steps.maintain import maintain
from lakehouse.steps.runner import execute, run_recorded
from tests.support.campaign import armed
from tests.support.dying_run import LATER
from tests.support.runs import open_runs

NAME = "fulldisk"
_BLOCKS = (1 << 20, 1 << 12, 1)


def fill(file: Path) -> None:
    """Write zeros until the disk takes no more."""
    with file.open("wb", buffering=0) as stream:
        for size in _BLOCKS:
            with suppress(OSError):
                while stream.write(bytes(size)):
                    pass


@contextmanager
def filled(filler: Path, failpoint: str, paused: Path) -> Iterator[None]:
    """The disk is full from a failpoint on, at which the run waits for it; until the block ends."""
    if not failpoint:
        fill(filler)
        yield
    else:
        with armed(f"{failpoint}:pause={paused}"):
            threading.Thread(target=_fill_at, args=(filler, paused), daemon=True).start()
            yield
        assert filler.exists(), f"the run did not come to {failpoint}"
    filler.unlink()


def _fill_at(filler: Path, paused: Path) -> None:
    while not paused.exists():
        time.sleep(0.02)
    fill(filler)
    paused.unlink()


def run(context: StepContext, work: str = "run") -> str:
    """All steps, or maintenance; what the first one that failed says, or nothing."""
    acts = {step: partial(execute, step, context) for step in STEPS}
    if work == MAINTAIN:
        later = partial(maintain, now=datetime.now(UTC) + LATER)
        acts = {MAINTAIN: partial(run_recorded, MAINTAIN, context, later)}
    for step, act in acts.items():
        try:
            outcome = act()
        except Exception as failure:  # noqa: BLE001 - whatever it is, the run has failed
            return f"{step}: {type(failure).__name__}: {failure}"
        if outcome.status != "succeeded":
            return f"{step}: {outcome.message}"
    return ""


def read(ledger: Ledger) -> dict[str, object]:
    """The rows of silver, the published cuts and what has landed, read without Spark."""
    rows = ledger.catalog.load_table(f"silver_{NAME}.public__orders").scan().to_arrow().to_pylist()
    cuts = [cut.cut_id for cut in ledger.cuts(NAME) if cut.state == "published"]
    bronze = ledger.catalog.load_table(f"bronze.{NAME}").scan().to_arrow().to_pylist()
    landed = sorted((message["topic"], message["offset"]) for message in bronze)
    return {
        "rows": sorted((row["id"], row["name"]) for row in rows),
        "cuts": cuts,
        "landed": landed,
    }


def main(home: str, first: str, second: str, work: str = "run", failpoint: str = "") -> None:
    settings = Settings.from_environment({"LAKEHOUSE_HOME": home})
    os.environ.update(spark_environment(settings.home))
    runs = open_runs(spark_session("full disk", settings), settings, Path(home), NAME)
    found: dict[str, object] = {"first": run(runs.context(Path(first), "first"))}
    if work == MAINTAIN:
        found["second"] = run(runs.context(Path(second), "second"))
    with filled(Path(home) / "filler", failpoint, Path(first).parent / "paused"):
        found["full"] = run(runs.context(Path(second), "full"), work)
        found["while_full"] = read(Ledger(settings))
    found["again"] = run(runs.context(Path(second), "again"), work)
    found["after"] = read(Ledger(settings))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
