"""Runs `ingest_inventory` once for each plan and prints how each run and its tasks ended."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from airflow.dag_processing.dagbag import BundleDagBag

DAGS = Path(__file__).resolve().parents[2] / "dags"


def run(dag, folder: Path) -> dict[str, object]:
    os.environ["CALLS"], os.environ["PLAN"] = str(folder / "calls"), str(folder / "plan.json")
    (folder / "calls").mkdir()
    ended = dag.test()
    return {
        "state": str(ended.state),
        "run_id": ended.run_id,
        "tasks": {task.task_id: str(task.state) for task in ended.get_task_instances()},
    }


if __name__ == "__main__":
    found = BundleDagBag(DAGS, bundle_path=DAGS, bundle_name="dags").dags["ingest_inventory"]
    for task in found.tasks:
        task.retries = 0
    runs = {folder: run(found, Path(folder)) for folder in sys.argv[1:]}
    print(json.dumps({Path(folder).name: ended for folder, ended in runs.items()}))
