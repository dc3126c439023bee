"""Commands that work on silver beside the runs, killed at each kind of point: the next one ends it.

A rebuild, an erasure and a replay, each in its own Spark application, which dies with SIGKILL.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.failpoints import POINTS
from lakehouse.plan.remaking.erasing import ERASURE, Erasure
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.plan.submission import Run, application, arguments, erasure_application
from tests.spark import test_erase as erasing
from tests.spark import test_replay as replaying
from tests.support.debezium import Postgres
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
# From the first to the last place of a command: what one has done, the next ones need not do.
OF_ERASURE = [
    "apply.after_lease:1",
    "apply.before_write:1",
    "apply.before_commit:1",
    "apply.after_commit:1",
    "apply.after_mirror:1",
    "validate.after_files:1",
    "publish.between_tables:1",
    "maintain.after_commit:1",
]

OF_REPLAY = [
    "apply.after_lease:1",
    "apply.before_write:1",
    "apply.after_files:1",
    "apply.before_commit:2",
    "apply.after_commit:3",
    "apply.between_tables:1",
    "apply.after_mirror:1",
]


def kinds(failpoints: list[str]) -> set[str]:
    return {each.partition(".")[2].partition(":")[0] for each in failpoints}


def new_id(kind: str) -> str:
    return f"{kind}{uuid.uuid4().hex[:8]}"


def test_every_kind_of_point_is_one_of_theirs() -> None:
    assert kinds(OF_REBUILD) == kinds(OF_ERASURE) == kinds(OF_REPLAY) == set(POINTS)


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


@pytest.mark.further
def test_an_erasure_that_is_killed_anywhere_is_done_by_the_next(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    archives = tmp_path / "archives"
    runs = erasing.opened(spark, settings, archives, "killed_erasure", "history = true")
    pg = erasing.lived(runs)
    others = [row for row in erasing.contents(runs) if row[0] != erasing.KEY]
    key = json.dumps({"mail": erasing.KEY})
    asked = Erasure(f"public.{erasing.CUSTOMERS}", (key,), "ann", forget_key=True)
    for failpoint in OF_ERASURE:
        options = ["--config", runs.source.model_dump_json(), "--run-id", new_id("erasure__")]
        kill(runs, erasure_application(), options, failpoint, **{ERASURE: asked.to_json()})
        assert [r for r in erasing.contents(runs) if r[0] != erasing.KEY] == others, failpoint

    outcomes = erasing.erase(runs, key)

    assert [outcome.status for outcome in outcomes] == ["succeeded"] * 4, outcomes
    assert erasing.found(runs) == {}
    assert erasing.contents(runs) == others
    pg.transact((erasing.customers(), "c", None, erasing.customer("c@x", "third")))
    assert runs.run(pg)["publish"].status == "succeeded"
    assert [row[0] for row in erasing.contents(runs)] == [*(row[0] for row in others), "c@x"]


@pytest.mark.further
def test_a_replay_that_is_killed_anywhere_is_done_by_the_next(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    name = "killed_replay"
    source = parse_source(f'connector = "postgresql"\ntopic_prefix = "{name}"\n', name)
    story = replaying.Story(Runs(spark, settings, tmp_path, source), Postgres(name))
    replaying.tell(story.pg)
    story.narrow().run(story.pg)
    before, runs = story.runs.ledger.newest_cut(name), story.wide()
    for failpoint in OF_REPLAY:
        run = Run(new_id("replay__"), from_step="apply", replay=True)
        kill(runs, application(None), arguments(runs.source, run), failpoint)
        assert runs.ledger.newest_cut(name) == before, failpoint
    outcomes = replaying.replay(runs)
    assert [outcome.status for outcome in outcomes.values()] == ["succeeded"] * 3, outcomes
    assert runs.rows("orders", "id", "n", "note", "big") == replaying.ROWS
    assert runs.rows("strays", "id", "note") == [(1, "stray")]
    assert replaying.versions(runs) == replaying.VERSIONS
    assert replaying.states(runs) == replaying.STATES
