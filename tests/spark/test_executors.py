"""A run on a cluster whose executors are killed: the same rows, as if nothing had happened."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.records import STEPS
from lakehouse.spark.metadata import load_metadata
from tests.support.campaign import Campaign, begin
from tests.support.cluster import Cluster, cluster
from tests.support.damage import local

ROOT = Path(__file__).resolve().parents[2]
# Where an executor dies: what the application logs as each step begins.
DEADLY = ("step=apply", "step=validate")
OUT_OF_MEMORY, TWICE = "OutOfMemoryError", 5
# Each task that takes longer than a moment is begun once more elsewhere.
EAGER = {
    "spark.speculation.interval": "5ms",
    "spark.speculation.minTaskRuntime": "1ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.task.duration.threshold": "5ms",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
}


@contextmanager
def application(
    campaign: Campaign, running: Cluster, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A run on the cluster over all that the bank has sent, whose output goes to a log."""
    home, archive = campaign.runs.settings.home, campaign.context("on_a_cluster").archive
    command = [sys.executable, "-m", "tests.support.dying_run", str(home)]
    command += [campaign.runs.source.name, "on_a_cluster", "run", str(archive)]
    variables = running.variables(home) | {"PYTHONUNBUFFERED": "1"}
    with (
        log.open("wb") as written,
        subprocess.Popen(
            command, cwd=ROOT, env=os.environ | variables, stdout=written, stderr=written
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def until(reached: Callable[[], object], process: subprocess.Popen[bytes], log: Path) -> None:
    while not reached():
        assert process.poll() is None, log.read_text(encoding="utf-8")[-4000:]
        time.sleep(0.005)


def is_done(campaign: Campaign, log: Path, lost: str, least: int) -> None:
    """The run was hit, and did all of its work: nothing is left, and silver is the source."""
    assert log.read_text(encoding="utf-8").count(lost) >= least
    rows = campaign.runs.ledger.runs(campaign.runs.source.name)
    ended = [(row.step, row.status) for row in rows if row.run_id == "on_a_cluster"]
    assert ended == [(step, "succeeded") for step in STEPS]
    campaign.finish()


@pytest.mark.further
def test_executors_that_die_change_nothing(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = begin(spark, settings, tmp_path / "runs", "executors")
    campaign.bank.transfer(20)
    log = tmp_path / "application.log"
    with (
        cluster(tmp_path / "cluster", settings.home) as running,
        application(campaign, running, log) as process,
    ):
        for step in DEADLY:
            until(lambda step=step: step in log.read_text(encoding="utf-8"), process, log)
            running.kill_executor()
        assert process.wait() == 0, log.read_text(encoding="utf-8")[-4000:]
    is_done(campaign, log, "Lost executor", len(DEADLY))


@pytest.mark.further
def test_an_executor_without_memory_changes_nothing(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = begin(spark, settings, tmp_path / "runs", "starved")
    campaign.bank.transfer(20)
    log = tmp_path / "application.log"
    with (
        cluster(tmp_path / "cluster", settings.home) as running,
        application(campaign, running, log) as process,
    ):
        until(lambda: DEADLY[0] in log.read_text(encoding="utf-8"), process, log)
        running.starve_executor()
        assert process.wait() == 0, log.read_text(encoding="utf-8")[-4000:]
        told = (each.read_text("utf-8") for each in running.folder.glob("work/*/*/std*"))
        assert any(OUT_OF_MEMORY in text for text in told)
    is_done(campaign, log, "Lost executor", 1)


@pytest.mark.further
def test_tasks_that_run_twice_at_one_moment_change_nothing(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = begin(spark, settings, tmp_path / "runs", "speculation")
    campaign.bank.transfer(200)
    log, events = tmp_path / "application.log", tmp_path / "events"
    events.mkdir()
    eager = EAGER | {"spark.eventLog.dir": events.as_uri()}
    with (
        cluster(tmp_path / "cluster", settings.home, settings=eager) as running,
        application(campaign, running, log) as process,
    ):
        assert process.wait() == 0, log.read_text(encoding="utf-8")[-4000:]
    told = "".join(each.read_text("utf-8") for each in events.rglob("events_*"))
    begun = [line for line in told.splitlines() if '"SparkListenerTaskStart"' in line]
    assert sum('"Speculative":true' in line for line in begun) >= TWICE, len(begun)
    is_done(campaign, log, "", 0)


@pytest.mark.further
def test_executors_that_die_with_half_a_landing_land_every_message_once(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = begin(spark, settings, tmp_path / "runs", "lost_landing")
    campaign.bank.transfer(2_000)
    metadata = load_metadata(campaign.runs.ledger.catalog, "bronze.lost_landing")
    assert metadata is not None
    folder, log = local(metadata.location) / "data", tmp_path / "application.log"
    before = set(folder.rglob("*"))
    with (
        cluster(tmp_path / "cluster", settings.home) as running,
        application(campaign, running, log) as process,
    ):
        # A task has begun to write its file.
        until(lambda: set(folder.rglob("*")) - before, process, log)
        running.kill_executors()
        assert process.wait() == 0, log.read_text(encoding="utf-8")[-4000:]
    is_done(campaign, log, "Lost task", 1)
