"""A command beside the runs, killed at each kind of named point: the next one does its work.

It is a Spark application of its own, which dies with SIGKILL.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.failpoints import POINTS
from lakehouse.plan.rebuilding import Rebuild
from lakehouse.plan.submission import Run, application, arguments
from tests.support.killed_commands import kill
from tests.support.rebuilds import TOML, contents, rebuild, run_in_batches, spoil, tell
from tests.support.runs import Runs

OF_REBUILD = [
    "publish.before_commit:2",
    "publish.between_tables:2",
    "apply.after_lease:1",
    "apply.before_write:2",
    "apply.after_commit:3",
    "apply.after_mirror:1",
    "validate.after_files:1",
]


def kinds(failpoints: list[str]) -> set[str]:
    return {each.partition(".")[2].partition(":")[0] for each in failpoints}


def new_id(kind: str) -> str:
    return f"{kind}{uuid.uuid4().hex[:8]}"


def test_every_kind_of_point_is_one_of_theirs() -> None:
    assert kinds(OF_REBUILD) == set(POINTS)


@pytest.mark.further
def test_a_rebuild_that_is_killed_anywhere_is_done_by_the_next(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    name = "killed_rebuild"
    runs = Runs(spark, settings, tmp_path, parse_source(TOML.format(name=name), name))
    pg, ends = tell(name, 24)
    run_in_batches(runs, pg, [ends[11], ends[-1]])
    running = contents(runs)
    for failpoint in OF_REBUILD:
        spoil(runs)
        run = Run(new_id("rebuild__"), from_step="apply", rebuild=Rebuild())
        kill(runs, application(None), arguments(runs.source, run), failpoint)
        assert [each.status for each in rebuild(runs).values()] in (
            ["succeeded"],  # The killed one had announced its cut.
            ["succeeded"] * 3,
        )
        assert contents(runs) == running, failpoint
