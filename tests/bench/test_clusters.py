"""W2 and W5 on `local[2]` and on a Spark standalone cluster: the same tables, whoever is killed.

`BENCH_ROWS` and `BENCH_CHANGES` are W2's, `BENCH_EVENTS` W5's. The code that Python's workers need
comes to the cluster as a wheel.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from tests.bench import sizes
from tests.bench.clustered import TOLD
from tests.support.cluster import Cluster, cluster

ROOT = Path(__file__).resolve().parents[2]
SIZES = [
    sizes.text(name, usual)
    for name, usual in (("ROWS", "100000"), ("CHANGES", "10000"), ("EVENTS", "200000"))
]
_WORKERS = {
    "whole": "both of which live",
    "losing": "one of which is killed while the changes are applied",
}
# What the log has of a step as it begins, and once more as it ends.
_APPLYING, _INTO_IT_S = "step=apply", 2


@pytest.mark.timeout(4 * 3600)
def test_a_cluster_makes_the_same_tables_and_a_worker_that_dies_changes_nothing(
    spark: SparkSession, settings: Settings, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    alone, alone_s = _run(tmp_path / "alone", {})
    assert all(rows for rows, _ in alone["tables"].values())
    rows, changes, events = SIZES
    told = [f"{changes} changes into {rows} rows and {events} events from bronze: the same tables"]
    told += [f"on local[2] ({alone_s:.0f} s)"]
    for name, workers in _WORKERS.items():
        with cluster(tmp_path / name, settings.home) as running:
            losing = running if name == "losing" else None
            found, seconds = _run(
                tmp_path / f"{name}_home", running.variables(settings.home), losing
            )
        assert found["tables"] == alone["tables"]
        assert all(".whl/" in file for file in found["code"])
        told += [f"on a cluster of two workers, {workers} ({seconds:.0f} s)"]
    figure(", ".join(told))


def _run(
    home: Path, variables: Mapping[str, str], losing: Cluster | None = None
) -> tuple[dict[str, Any], float]:
    """What came of both, and the seconds; a cluster that is given loses a worker meanwhile."""
    home.mkdir()
    log, began = home / "application.log", time.monotonic()
    command = [sys.executable, "-m", "tests.bench.clustered", str(home), *SIZES]
    usual = {name: text for name, text in os.environ.items() if name != "SPARK_CONF_DIR"}
    with (
        log.open("wb") as written,
        subprocess.Popen(
            command, cwd=ROOT, env=usual | variables, stdout=written, stderr=written
        ) as process,
    ):
        if losing is not None:
            _await_changes(process, log)
            losing.kill_worker()
        process.wait()
    said = log.read_text(encoding="utf-8")
    assert process.returncode == 0, said[-4000:]
    if losing is not None:
        assert "Lost executor" in said
    told = next(line for line in said.splitlines() if line.startswith(TOLD))
    return json.loads(told.removeprefix(TOLD)), time.monotonic() - began


def _await_changes(process: subprocess.Popen[bytes], log: Path) -> None:
    """Until the first load is applied, and the changes are being applied."""
    while log.read_text(encoding="utf-8").count(_APPLYING) < 3:
        assert process.poll() is None, log.read_text(encoding="utf-8")[-4000:]
        time.sleep(0.05)
    time.sleep(_INTO_IT_S)
