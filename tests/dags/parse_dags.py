"""Reads the Dag files once for each sources folder and prints what Airflow sees, as JSON.

Runs in a process of its own: Airflow takes its settings when it is imported, and only a fresh
process shows what reading a Dag file imports. Any network connection ends it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

DAGS = Path(__file__).resolve().parents[2] / "dags"


def refuse_network(event: str, arguments: tuple[object, ...]) -> None:
    if event in {"socket.connect", "socket.getaddrinfo", "socket.bind", "sqlite3.connect"}:
        raise RuntimeError(f"reading Dag files did {event} {arguments[1:]}")


def parse(folder: str) -> dict[str, object]:
    from airflow.dag_processing.dagbag import BundleDagBag  # noqa: PLC0415 - after the variables

    os.environ["LAKEHOUSE_SOURCES"] = folder
    bag = BundleDagBag(DAGS, bundle_path=DAGS, bundle_name="dags")
    return {
        "dags": {name: describe(dag) for name, dag in sorted(bag.dags.items())},
        "import_errors": bag.import_errors,
    }


def describe(dag) -> dict[str, object]:
    return {
        "timetable": type(dag.timetable).__name__,
        "interval": getattr(dag.timetable, "expression", None),
        "start": dag.start_date.isoformat(),
        "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
        "doc_md": dag.doc_md,
        "deadlines": [
            f"{alert.reference.reference_name} {alert.interval.total_seconds()}"
            for alert in dag.deadline or []
        ],
        "params": {name: param.schema for name, param in dag.params.items()},
        "tasks": [describe_task(task) for task in dag.topological_sort()],
    }


def describe_task(task) -> dict[str, object]:
    return {
        "id": task.task_id,
        "operator": type(task).__name__,
        "pool": task.pool,
        "pool_slots": task.pool_slots,
        "weight_rule": getattr(task.weight_rule, "name", str(task.weight_rule)),
        "trigger_rule": task.trigger_rule.value,
        "retries": task.retries,
        "retry_delay_s": task.retry_delay.total_seconds(),
        "timeout_s": task.execution_timeout and task.execution_timeout.total_seconds(),
        "on_failure": bool(task.on_failure_callback),
        "downstream": sorted(task.downstream_task_ids),
        "outlets": [outlet.name for outlet in task.outlets],
        "application": Path(getattr(task, "application", "")).name,
        "arguments": getattr(task, "application_args", []),
        "templated": {name: repr(getattr(task, name)) for name in task.template_fields},
    }


if __name__ == "__main__":
    import airflow.dag_processing.dagbag
    import airflow.providers.apache.spark.operators.spark_submit
    import airflow.sdk  # noqa: F401

    sys.addaudithook(refuse_network)
    found = [parse(folder) for folder in sys.argv[1:]]
    heavy = ("pyspark", "pyiceberg", "pyarrow", "confluent_kafka", "great_expectations")
    print(json.dumps({"parsed": found, "heavy": [name for name in heavy if name in sys.modules]}))
