"""Airflow, added to the stack of the folder above while the tests of this one run."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from infra.airflow_api import AirflowApi, DagRun, log_in
from infra.stack import up
from infra.state import AirflowAddress
from infra.stopping import end_servers, living_servers
from tests.stack.conftest import Stack


@dataclass(frozen=True)
class ReadAgain:
    """A table that a form's signal had read again, and the run of ingest that published it."""

    api: AirflowApi
    ended: tuple[DagRun, ...]

    @property
    def ingested(self) -> DagRun:
        """The run of ingest."""
        return next(run for run in self.ended if run.dag_id == "ingest_inventory")


def call(url: str, *, body: dict | None = None, token: str | None = None) -> dict:
    """A request to Airflow as a person's own program would send it."""
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as answer:
        return json.loads(answer.read())


def token_of(airflow: AirflowAddress, user: str) -> str:
    """Log in as one of those who have a password."""
    password = json.loads(Path(airflow.password_file).read_text())[user]
    login = {"username": user, "password": password}
    return call(f"{airflow.url}/auth/token", body=login)["access_token"]


@pytest.fixture(scope="package")
def airflow(stack: Stack) -> Iterator[AirflowAddress]:
    """Airflow, which ends before it slows the tests of other folders down."""
    state = up(stack.settings, airflow=True)
    assert state.airflow is not None
    yield state.airflow
    state = stack.state
    airflows = tuple(name for name in living_servers(stack.home) if name.startswith("airflow_"))
    end_servers(stack.home, state.processes, airflows, print)
    left = tuple(record for record in state.processes if record.server not in airflows)
    replace(state, airflow=None, processes=left).write(stack.home)


@pytest.fixture(scope="package")
def token(airflow: AirflowAddress) -> str:
    """The admin's."""
    return token_of(airflow, airflow.user)


@pytest.fixture(scope="package")
def read_again(stack: Stack, airflow: AirflowAddress) -> ReadAgain:
    """A snapshot that a person asked for in a form, and the run that published its rows."""
    api = log_in(airflow)
    for dag in ("signal_inventory", "ingest_inventory"):
        api.await_dag(dag)
    form = {"action": "execute", "tables": ["public.locations"], "conditions": ["code like '%'"]}
    signalled = api.trigger("signal_inventory", "read_again", form)
    ended = api.await_end([signalled], print, deadline_s=500)
    ingested = api.trigger("ingest_inventory", "after_read_again")
    return ReadAgain(api, (*ended, *api.await_end([ingested], print, deadline_s=500)))
