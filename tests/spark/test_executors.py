"""A run on a cluster whose executors are killed: the same rows, as if nothing had happened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.records import STEPS
from tests.support.campaign import begin
from tests.support.cluster import cluster

ROOT = Path(__file__).resolve().parents[2]
# Where an executor dies: what the application logs as each step begins.
DEADLY = ("step=apply", "step=validate")


@pytest.mark.further
def test_executors_that_die_change_nothing(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = begin(spark, settings, tmp_path / "runs", "executors")
    campaign.bank.transfer(20)
    context = campaign.context("on_a_cluster")
    command = [sys.executable, "-m", "tests.support.dying_run", str(settings.home)]
    command += [campaign.runs.source.name, "on_a_cluster", "run", str(context.archive)]
    log, killed = tmp_path / "application.log", []
    with (
        cluster(tmp_path / "cluster", settings.home) as running,
        log.open("wb") as errors,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | running.variables(settings.home) | {"PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as application,
    ):
        assert application.stdout is not None
        for line in application.stdout:
            if "step started" in line and any(step in line for step in DEADLY):
                running.kill_executor()
                killed.append(line)
        assert application.wait() == 0, log.read_text()[-4000:]
    assert len(killed) == len(DEADLY), killed
    assert log.read_text(encoding="utf-8").count("Lost executor") >= len(DEADLY)
    rows = [row for row in campaign.runs.ledger.runs("executors") if row.run_id == "on_a_cluster"]
    assert [(row.step, row.status) for row in rows] == [(step, "succeeded") for step in STEPS]
    # Nothing is left for a clean run, and silver is the source.
    campaign.finish()
