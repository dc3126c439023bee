"""Faults of Airflow's own and rivals, brought upon a run of ingest that is at work."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from infra.airflow_api import AirflowApi, DagRun
from infra.processes import session_pids
from infra.stack import up
from lakehouse.config import Settings
from lakehouse.spark.ledger import Ledger
from tests.stack.conftest import Stack
from tests.stack.with_airflow.asking import send, until
from tests.support.commands import ended_command
from tests.support.processes import command_lines, parent

NAME = "shop"
DAG = f"ingest_{NAME}"
# All steps of a run are one application, which this task starts.
TASK = "land"
SUPERSEDED = 6


@dataclass(frozen=True)
class AtWork:
    """A run that has landed and goes on.

    Attributes:
        settings: With the files that Airflow reads.
    """

    stack: Stack
    api: AirflowApi
    settings: Settings
    run: DagRun


def begin(stack: Stack, api: AirflowApi, settings: Settings, run_id: str) -> AtWork:
    """Start a run, and wait until it has landed and applies."""
    api.await_dag(DAG)
    run = api.trigger(DAG, run_id)
    until(lambda: _landed(stack, run_id), f"expected {run_id} to land", 400)
    assert applications(), f"{run_id}: expected it to go on behind landing"
    return AtWork(stack, api, settings, run)


def _landed(stack: Stack, run_id: str) -> bool:
    rows = Ledger(stack.settings).runs(NAME)
    return any(row.run_id == run_id and row.step == "land" for row in rows)


def applications() -> list[int]:
    """The JVMs that run steps of the source."""
    wanted = f'"name":"{NAME}"'.encode()
    return [
        pid
        for pid, line in command_lines().items()
        if b"SparkSubmit" in line and b"/run.py" in line and wanted in line
    ]


def end_worker(at_work: AtWork) -> None:
    """SIGKILL of the task's process and of the one that supervises it."""
    [jvm] = applications()
    task = parent(jvm)
    supervisor = parent(task)
    for pid in (supervisor, task):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not applications(), "expected the application to end with its task", 30)


def _end(at_work: AtWork, name: str) -> None:
    """SIGKILL of a component with all that it started but tasks, and its start once more."""
    record = at_work.stack.state.find_process(name)
    assert record is not None, f"{name}: expected it to run"
    pids = session_pids([record]) if name == "airflow_api_server" else {record.pid}
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    time.sleep(1)
    up(at_work.settings, airflow=True)


def end_scheduler(at_work: AtWork) -> None:
    """Its workers live on, and what starts next takes their tasks for lost."""
    _end(at_work, "airflow_scheduler")


def end_api_server(at_work: AtWork) -> None:
    """Those who supervise tasks talk to nobody meanwhile."""
    _end(at_work, "airflow_api_server")


def clear(at_work: AtWork) -> None:
    """A person clears the task that is at work: it begins once more."""
    body = {"dry_run": False, "dag_run_id": at_work.run.run_id, "task_ids": [TASK]}
    more = {"only_failed": False, "include_downstream": True}
    send(at_work.api, "POST", f"dags/{DAG}/clearTaskInstances", {**body, **more})


def mark_failed(at_work: AtWork) -> None:
    """A person marks the task that is at work as failed."""
    path = f"dags/{DAG}/dagRuns/{at_work.run.run_id}/taskInstances/{TASK}"
    send(at_work.api, "PATCH", path, {"new_state": "failed"})


def mark_succeeded(at_work: AtWork) -> None:
    """A person marks the run that is at work as succeeded."""
    path = f"dags/{DAG}/dagRuns/{at_work.run.run_id}"
    send(at_work.api, "PATCH", path, {"state": "success"})


def rival(at_work: AtWork) -> None:
    """Somebody starts the same source's run beside Airflow: it waits, or gives way."""
    ended = ended_command(at_work.settings, "run", "--source", NAME)
    assert ended.returncode in (0, SUPERSEDED), ended.stderr[-2000:]


def rebuild(at_work: AtWork) -> None:
    """A rebuild by its Dag, which waits for the lease and catches up."""
    at_work.api.await_dag(f"rebuild_{NAME}")
    run = at_work.api.trigger(f"rebuild_{NAME}", f"beside_{at_work.run.run_id}")
    [ended] = at_work.api.await_end([run], print, 600)
    assert ended.state == "success", ended


def maintain(at_work: AtWork) -> None:
    """Compaction and expiry of the source's tables."""
    ended = ended_command(at_work.settings, "maintain", "--source", NAME)
    assert ended.returncode == 0, ended.stderr[-2000:]


# The first one is `make test`'s: after the others Airflow itself looks for its tasks in minutes.
FAULTS: dict[str, Callable[[AtWork], None]] = {
    each.__name__: each for each in (end_api_server, end_worker, end_scheduler)
}
RACES: dict[str, Callable[[AtWork], None]] = {
    each.__name__: each for each in (clear, mark_failed, mark_succeeded, rival, maintain, rebuild)
}
