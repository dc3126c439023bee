"""Faults of Airflow's own and rivals, brought upon a run that is at work, at a moment of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TypeAlias

from infra.processes import pids_in_folder, session_pids
from infra.stack import up
from infra.stopping import AIRFLOW_DATABASE
from tests.stack.with_airflow.asking import call, send, until
from tests.stack.with_airflow.moments import (
    APPLYING,
    LANDED,
    LANDING,
    MAINTAINING,
    NAME,
    PUBLISHING,
    VALIDATING,
    AtWork,
    Moment,
    working,
)
from tests.support.commands import ended_command
from tests.support.processes import parent

SUPERSEDED = 6
_AWAY_S = 20


def end_worker(at_work: AtWork) -> None:
    """SIGKILL of the task's process and of the one that supervises it."""
    pid, *_ = working(at_work.moment)
    task = parent(pid)
    supervisor = parent(task)
    _kill((supervisor, task))
    until(lambda: not working(at_work.moment), "expected the work to end with its task", 30)


def stop_worker(at_work: AtWork) -> None:
    """SIGTERM of the task's process, as from a machine that goes down: it ends what it started."""
    pid, *_ = working(at_work.moment)
    os.kill(parent(pid), signal.SIGTERM)
    until(lambda: pid not in working(at_work.moment), "expected the work to end with its task", 60)


def _end(at_work: AtWork, name: str) -> None:
    """SIGKILL of a component with all that it started but tasks, and its start once more."""
    record = at_work.stack.state.find_process(name)
    assert record is not None, f"{name}: expected it to run"
    _kill(session_pids([record]) if name == "airflow_api_server" else {record.pid})
    time.sleep(1)
    up(at_work.settings, airflow=True)


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        # A database's processes end with their first one.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def end_scheduler(at_work: AtWork) -> None:
    """Its workers live on, and what starts next takes their tasks for lost."""
    _end(at_work, "airflow_scheduler")


def end_api_server(at_work: AtWork) -> None:
    """Those who supervise tasks talk to nobody meanwhile."""
    _end(at_work, "airflow_api_server")


def end_database(at_work: AtWork) -> None:
    """No component can read or write what Airflow knows, for some time."""
    _kill(pids_in_folder(at_work.stack.home.data(AIRFLOW_DATABASE), "postgres"))
    time.sleep(_AWAY_S)
    up(at_work.settings, airflow=True)
    back = datetime.now(UTC)

    def schedules() -> bool:
        # Who dies of it later is started once more, as whatever watches over servers does.
        up(at_work.settings, airflow=True)
        beat = call(f"{at_work.api.url}/api/v2/monitor/health")["scheduler"]
        return datetime.fromisoformat(beat["latest_scheduler_heartbeat"]) > back

    until(schedules, "expected a scheduler to be at work again", 600, poll_s=10)


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
    (LANDING, end_worker),
    (LANDING, end_database),
    (APPLYING, stop_worker),
    (APPLYING, end_worker),
    (VALIDATING, end_worker),
    (PUBLISHING, end_worker),
    (MAINTAINING, end_worker),
    (MAINTAINING, stop_worker),
)
# The second one is `make test`'s.
RACES: tuple[tuple[Moment, Disturb], ...] = (
    (LANDED, clear),
    (LANDED, rival),
    (LANDED, mark_failed),
    (LANDED, mark_succeeded),
    (LANDED, maintain),
    (LANDED, rebuild),
    (APPLYING, clear),
    (VALIDATING, mark_failed),
    (VALIDATING, clear),
    (MAINTAINING, mark_failed),
)
