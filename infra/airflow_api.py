"""Airflow's REST interface, as far as the local stack and the demonstration need it.

https://airflow.apache.org/docs/apache-airflow/stable/stable-rest-api-ref.html
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path

from infra.errors import StackError
from infra.state import AirflowAddress

_TIMEOUT_S = 30
_POLL_S = 1.0
_FINISHED = frozenset({"success", "failed"})
# States of tasks that are worth a line.
_REPORTED = {"success": "succeeded", "failed": "failed", "up_for_retry": "failed, is tried again"}
# Who waits is told so often that nothing stands still.
_TOLD_EACH_S = 20


@dataclass(frozen=True, slots=True)
class DagRun:
    """A run of a Dag; `started_at` and `failed_tasks` only say something once it ended."""

    dag_id: str
    run_id: str
    state: str
    url: str
    started_at: str = ""
    failed_tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AirflowApi:
    """A logged-in client."""

    url: str
    token: str

    def ensure_pool(self, name: str) -> None:
        """Make a one-slot pool, unless it is there."""
        pool = {
            "name": name,
            "slots": 1,
            "description": "One task of the source at a time",
            "include_deferred": True,
        }
        self._call("POST", "/api/v2/pools", pool, allowed=(HTTPStatus.CONFLICT,))

    def await_dag(self, dag_id: str, deadline_s: float = 120) -> None:
        """Wait until Airflow has read the Dag, and let it run.

        Raises:
            StackError: Airflow did not find it in time; import errors are in the message.
        """
        deadline = time.monotonic() + deadline_s
        while not self._call("GET", f"/api/v2/dags/{dag_id}", allowed=(HTTPStatus.NOT_FOUND,)):
            if time.monotonic() > deadline:
                errors = self._call("GET", "/api/v2/importErrors").get("import_errors")
                raise StackError(f"Airflow has not read Dag {dag_id!r}: import errors: {errors}")
            time.sleep(_POLL_S)
        self._call("PATCH", f"/api/v2/dags/{dag_id}", {"is_paused": False})

    def trigger(self, dag_id: str, run_id: str, form: Mapping[str, object] | None = None) -> DagRun:
        """Start a run without a data interval: it lands all that is there by now.

        Args:
            dag_id: The Dag.
            run_id: The run's id.
            form: What a person would fill in; fields that are left out keep their defaults.
        """
        body = {"dag_run_id": run_id, "logical_date": None, "conf": dict(form or {})}
        self._call("POST", f"/api/v2/dags/{dag_id}/dagRuns", body)
        return self.find_run(dag_id, run_id)

    def find_run(self, dag_id: str, run_id: str) -> DagRun:
        """The run's present state."""
        found = self._call("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}")
        url = f"{self.url}/dags/{dag_id}/runs/{run_id}"
        return DagRun(dag_id, run_id, str(found["state"]), url, str(found["start_date"] or ""))

    def await_end(
        self, runs: Iterable[DagRun], report: Callable[[str], None], deadline_s: float = 1800
    ) -> tuple[DagRun, ...]:
        """Wait until every run succeeded or failed; report each task that ends.

        While none does, report that the runs go on.

        Raises:
            StackError: A run did neither in time.
        """
        deadline = time.monotonic() + deadline_s
        waiting, ended, seen = list(runs), [], set[tuple[str, str, str]]()
        begun = told = time.monotonic()
        while waiting:
            if time.monotonic() > deadline:
                raise StackError(f"{waiting[0].url}: expected an end within {deadline_s:.0f} s")
            time.sleep(_POLL_S)
            for run in tuple(waiting):
                found, tasks = self.find_run(run.dag_id, run.run_id), self._tasks(run)
                news = {(run.dag_id, task, state) for task, state in tasks.items()} - seen
                seen |= news
                for line in _lines(news):
                    report(line)
                    told = time.monotonic()
                if found.state in _FINISHED:
                    waiting.remove(run)
                    failed = tuple(task for task, state in tasks.items() if state == "failed")
                    ended.append(replace(found, failed_tasks=failed))
            if waiting and time.monotonic() > told + _TOLD_EACH_S:
                told = time.monotonic()
                report(f"{', '.join(run.dag_id for run in waiting)}: at work, {told - begun:.0f} s")
        return tuple(ended)

    def _tasks(self, run: DagRun) -> dict[str, str]:
        """The state of each task of a run that has one."""
        path = f"/api/v2/dags/{run.dag_id}/dagRuns/{run.run_id}/taskInstances"
        found = self._call("GET", path)["task_instances"]
        listed = found if isinstance(found, list) else []
        return {str(one["task_id"]): str(one["state"]) for one in listed}

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        allowed: tuple[int, ...] = (),
    ) -> dict[str, object]:
        return _request(method, self.url + path, body, token=self.token, allowed=allowed)


def log_in(address: AirflowAddress) -> AirflowApi:
    """A client with a token of its own."""
    answer = _request(
        "POST",
        f"{address.url}/auth/token",
        {"username": address.user, "password": password(address)},
    )
    return AirflowApi(address.url, str(answer["access_token"]))


def password(address: AirflowAddress) -> str:
    """The password of the login, from the file that Airflow reads it from."""
    found = json.loads(Path(address.password_file).read_text(encoding="utf-8"))
    return str(found[address.user])


def _request(
    method: str,
    url: str,
    body: Mapping[str, object] | None = None,
    *,
    token: str = "",
    allowed: tuple[int, ...] = (),
) -> dict[str, object]:
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, method=method, data=data, headers=headers)
    # Airflow is on this machine: a proxy of the environment is not asked.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_TIMEOUT_S) as answer:
            found: dict[str, object] = json.loads(answer.read() or b"{}")
            return found
    except urllib.error.HTTPError as refused:
        if refused.code in allowed:
            return {}
        reason = refused.read().decode(errors="replace")[:500]
        raise StackError(f"Airflow: {method} {url}: {refused.code} {reason}") from refused
    except (OSError, HTTPException) as broken:
        raise StackError(f"Airflow: {method} {url}: no answer: {broken}") from broken


def _lines(news: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """What is worth telling of tasks and their states, by Dag."""
    for dag_id, task, state in sorted(news):
        if state in _REPORTED:
            yield f"{dag_id}: {task} {_REPORTED[state]}"
