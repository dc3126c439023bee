"""Faults of Airflow's own and rivals, brought upon a run that is at work, at a moment of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import TypeAlias

from infra.processes import session_pids
from infra.stack import up
from tests.stack.with_airflow.asking import send, until
from tests.stack.with_airflow.moments import (
    APPLYING,
    LANDED,
    MAINTAINING,
    NAME,
    VALIDATING,
    AtWork,
    Moment,
    working,
)
from tests.support.commands import ended_command
from tests.support.processes import parent

SUPERSEDED = 6


def end_worker(at_work: AtWork) -> None:
    """SIGKILL of the task's process and of the one that supervises it."""
    pid, *_ = working(at_work.moment)
    task = parent(pid)
    supervisor = parent(task)
    for pid in (supervisor, task):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not working(at_work.moment), "expected the work to end with its task", 30)


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
    body = {"dry_run": False, "dag_run_id": at_work.run.run_id, "task_ids": [at_work.moment.task]}
    more = {"only_failed": False, "include_downstream": True}
    send(at_work.api, "POST", f"dags/{at_work.run.dag_id}/clearTaskInstances", {**body, **more})


def mark_failed(at_work: AtWork) -> None:
    """A person marks the task that is at work as failed."""
    send(at_work.api, "PATCH", at_work.task_path, {"new_state": "failed"})


def mark_succeeded(at_work: AtWork) -> None:
    """A person marks the run that is at work as succeeded."""
    send(at_work.api, "PATCH", at_work.path, {"state": "success"})


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


Disturb: TypeAlias = Callable[[AtWork], None]
# The first one is `make test`'s: after the others Airflow itself looks for its tasks in minutes.
FAULTS: tuple[tuple[Moment, Disturb], ...] = (
    (LANDED, end_api_server),
    (LANDED, end_worker),
    (LANDED, end_scheduler),
    (APPLYING, end_worker),
    (VALIDATING, end_worker),
    (MAINTAINING, end_worker),
)
# The second one is `make test`'s.
RACES: tuple[tuple[Moment, Disturb], ...] = (
    (LANDED, clear),
    (LANDED, mark_failed),
    (LANDED, mark_succeeded),
    (LANDED, rival),
    (LANDED, maintain),
    (LANDED, rebuild),
    (APPLYING, clear),
    (VALIDATING, mark_failed),
    (MAINTAINING, mark_failed),
)
