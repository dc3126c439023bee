"""Runs a Dag once for each of its plans and prints how each run ended."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import structlog
from airflow.dag_processing.dagbag import BundleDagBag
from airflow.sdk._shared.observability.metrics.base_stats_logger import NoStatsLogger
from airflow.sdk.execution_time.callback_supervisor import execute_callback
from airflow.sdk.observability import stats

from lakehouse.config import Settings, load_source

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dags"))
from lakehouse_dags.alerts import freshness_deadline

DAGS = Path(__file__).resolve().parents[2] / "dags"


class Gauges(NoStatsLogger):
    """Where metrics go here: a file of JSON lines in place of a server."""

    @classmethod
    def gauge(cls, stat, value=1, rate=1, delta=False, *, tags=None):  # noqa: FBT002 - Airflow's
        with Path(os.environ["GAUGES"]).open("a") as file:
            file.write(json.dumps([stat, value, tags]) + "\n")


def run(dag, folder: Path) -> dict[str, object]:
    os.environ["CALLS"], os.environ["PLAN"] = str(folder / "calls"), str(folder / "plan.json")
    (folder / "calls").mkdir()
    form = folder / "form.json"
    ended = dag.test(run_conf=json.loads(form.read_text()) if form.exists() else None)
    return {
        "state": str(ended.state),
        "run_id": ended.run_id,
        "tasks": {task.task_id: str(task.state) for task in ended.get_task_instances()},
    }


def be_late(dag_id: str) -> None:
    """Call what Airflow calls when a deadline has passed: `dag.test` knows no deadlines."""
    callback = freshness_deadline(load_source("shop", Settings.from_environment())).callback
    run = {"dag_id": dag_id, "dag_run_id": "scheduled__1", "state": "running"}
    told = {**callback.kwargs, "context": {"dag_run": run, "deadline": {}}}
    done, why = execute_callback(callback.path, told, "", None, structlog.get_logger())
    assert done, why


if __name__ == "__main__":
    stats.initialize(factory=Gauges, export_legacy_names=False)
    found = BundleDagBag(DAGS, bundle_path=DAGS, bundle_name="dags").dags
    for task in (task for dag in found.values() for task in dag.tasks):
        task.retries = 0
    plans = [argument.partition("=")[::2] for argument in sys.argv[1:]]
    runs = {folder: run(found[what], Path(folder)) for what, folder in plans}
    be_late("ingest_shop")
    print(json.dumps({Path(folder).name: ended for folder, ended in runs.items()}))
