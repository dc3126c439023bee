"""Runs a Dag of `inventory` once for each of its plans and prints how each run ended."""

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
    found = BundleDagBag(DAGS, bundle_path=DAGS, bundle_name="dags").dags
    for task in (task for dag in found.values() for task in dag.tasks):
        task.retries = 0
    plans = [argument.partition("=")[::2] for argument in sys.argv[1:]]
    runs = {folder: run(found[f"{what}_inventory"], Path(folder)) for what, folder in plans}
    print(json.dumps({Path(folder).name: ended for folder, ended in runs.items()}))
