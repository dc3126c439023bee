"""Prints what the Dags' own functions make of wrong configurations, as JSON.

In a process of its own: Airflow takes its settings when it is imported.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

from airflow.sdk.exceptions import AirflowFailException

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dags"))
from lakehouse_dags.alerts import Alert, tell_late
from lakehouse_dags.dag_run import narrowed

BACKFILLS = {
    "none": None,
    "empty": {},
    "list": {"tables": ["public.orders", "-x"]},
    "text": {"tables": "public.orders"},
    "number": {"tables": 7},
    "numbers": {"tables": ["public.orders", 7]},
    "object": {"tables": {"public.orders": True}},
    "null": {"tables": None},
    "other": {"table": ["public.orders"], "tables": ["public.orders"]},
}


def said(act) -> object:
    """What it gives; the sentence where it refuses."""
    try:
        return act()
    except AirflowFailException as refused:
        return str(refused)


def backfill(conf: object) -> object:
    """What a backfill with this configuration is narrowed to."""
    run = SimpleNamespace(run_type="backfill", conf=conf)
    return said(lambda: narrowed({"dag_run": run}))


def alerts(notifier: str, arguments: dict[str, object]) -> list[object]:
    """What is made of a notifier when a task failed, and when a run is late."""
    task = SimpleNamespace(dag_id="ingest_shop", task_id="land", run_id="run_1")
    run = {"dag_id": "ingest_shop", "dag_run_id": "run_2", "state": "running"}
    return [
        said(lambda: Alert(notifier, arguments)({"ti": task})),
        said(lambda: tell_late(notifier, arguments, "30m", {"dag_run": run})),
    ]


if __name__ == "__main__":
    backfills = {name: backfill(conf) for name, conf in BACKFILLS.items()}
    made = sys.argv[1]
    notifiers = {
        name: alerts(name, arguments)
        for name, arguments in {
            "subprocess.check_call": {"args": ["touch", made]},
            "subprocess.Popen": {"args": ["touch", made]},
            "pathlib.Path": {},
            "subprocess.no_such": {},
            "tests.dags.told.Told": {"text": "{{ alert }}"},
        }.items()
    }
    print(json.dumps({"backfills": backfills, "notifiers": notifiers}))
