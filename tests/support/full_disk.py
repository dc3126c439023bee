"""Runs of one source in a home on a small disk, which is full during the second run.

    python -m tests.support.full_disk HOME FIRST SECOND

HOME is the disk; FIRST and SECOND are topic archives elsewhere. Prints one JSON document.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.plan.records import STEPS
from lakehouse.spark.ledger import Ledger
from lakehouse.spark.session import spark_session
from lakehouse.steps.context import StepContext
from lakehouse.steps.runner import execute
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


def run(context: StepContext) -> str:
    """All steps; what the first one that failed says, or nothing."""
    for step in STEPS:
        try:
            outcome = execute(step, context)
        except Exception as failure:  # noqa: BLE001 - whatever it is, the run has failed
            return f"{step}: {type(failure).__name__}: {failure}"
        if outcome.status != "succeeded":
            return f"{step}: {outcome.message}"
    return ""


def read(ledger: Ledger) -> dict[str, object]:
    """The rows of silver and the published cuts, read without Spark."""
    rows = ledger.catalog.load_table(f"silver_{NAME}.public__orders").scan().to_arrow().to_pylist()
    cuts = [cut.cut_id for cut in ledger.cuts(NAME) if cut.state == "published"]
    return {"rows": sorted((row["id"], row["name"]) for row in rows), "cuts": cuts}


def main(home: str, first: str, second: str) -> None:
    settings = Settings.from_environment({"LAKEHOUSE_HOME": home})
    os.environ.update(spark_environment(settings.home))
    runs = open_runs(spark_session("full disk", settings), settings, Path(home), NAME)
    found: dict[str, object] = {"first": run(runs.context(Path(first), "first"))}
    filler = Path(home) / "filler"
    fill(filler)
    found["full"] = run(runs.context(Path(second), "full"))
    found["while_full"] = read(Ledger(settings))
    filler.unlink()
    found["again"] = run(runs.context(Path(second), "again"))
    found["after"] = read(Ledger(settings))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
