"""A driver whose launcher is killed ends within seconds and writes nothing more.

Unwatched, both the JVM and the Python driver outlive it and commit (`reliability.md` §0.3).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from pyspark.sql import SparkSession

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.failpoints import VARIABLE
from lakehouse.plan.submission import Run, application, arguments
from tests.support.campaign import begin
from tests.support.processes import command_lines

RUN_ID, POINT = "orphaned_run", "apply.before_write:2"
STARTS_S, ENDS_S = 300, 10


def drivers() -> list[int]:
    """The JVM and the Python process that do the run."""
    return [pid for pid, line in command_lines().items() if RUN_ID.encode() in line.split(b"\0")]


def test_a_driver_ends_with_whoever_launched_it(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign, stands = begin(spark, settings, tmp_path / "runs", "left_driver"), tmp_path / "stands"
    campaign.bank.transfer(2)
    run = Run(RUN_ID, archive=campaign.context(RUN_ID).archive)
    submit = ["spark-submit", str(application(None)), *arguments(campaign.runs.source, run)]
    environment = os.environ | spark_environment(settings.home)
    environment |= {"LAKEHOUSE_HOME": str(settings.home), VARIABLE: f"{POINT}:pause={stands}"}
    log = tmp_path / "log"
    with log.open("wb") as written:
        launcher = subprocess.Popen(
            ["sh", "-c", '"$@"; true', "sh", *submit],
            env=environment,
            stdout=written,
            stderr=written,
        )
    began = time.monotonic()
    while not stands.exists():
        assert launcher.poll() is None, log.read_text(encoding="utf-8")[-4000:]
        assert time.monotonic() - began < STARTS_S
        time.sleep(0.1)
    # With the launcher, whose own command line has it too.
    assert len(drivers()) == 3

    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    began = time.monotonic()
    while drivers():
        assert time.monotonic() - began < ENDS_S, "expected the JVM and the driver to end"
        time.sleep(0.1)
    campaign.look()
    campaign.finish()
