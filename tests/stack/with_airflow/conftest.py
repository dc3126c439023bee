"""Airflow, added to the stack of the folder above while the tests of this one run.

What takes long is done once, and at the same time where it can be: the backfill of one source goes
on while the forms and pages of another one are tested.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from infra.airflow_api import AirflowApi, DagRun, log_in
from infra.stack import up
from infra.state import AirflowAddress
from infra.stopping import end_servers, living_servers
from lakehouse.spark.control.ledger import Ledger
from tests.stack.conftest import Stack
from tests.stack.with_airflow.asking import token_of
from tests.stack.with_airflow.person import PATIENCE_MS, Person, arrive
from tests.stack.with_airflow.scheduled import (
    Backfill,
    Schedule,
    Watched,
    reschedule,
    start_backfill,
    watch,
)
from tests.support.chromium import MISSING, launch


@dataclass(frozen=True)
class Ingested:
    """A run of ingest that a person's program started."""

    api: AirflowApi
    run: DagRun


@pytest.fixture(scope="package")
def schedule(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Schedule:
    """When runs are due."""
    return reschedule(stack, tmp_path_factory.mktemp("schedule") / "sources")


@pytest.fixture(scope="package")
def mask_key() -> str:
    """The secret of keyed hashes that Airflow's tasks find in their environment."""
    return secrets.token_hex(16)


@pytest.fixture(scope="package")
def airflow(stack: Stack, schedule: Schedule, mask_key: str) -> Iterator[AirflowAddress]:
    """Airflow, which ends before it slows the tests of other folders down."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LAKEHOUSE_MASK_KEY", mask_key)
        # A worker that was killed is missed after this time, not after five minutes.
        patched.setenv("AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT", "90")
        state = up(schedule.settings, airflow=True)
    assert state.airflow is not None
    yield state.airflow
    state = stack.state
    airflows = tuple(name for name in living_servers(stack.home) if name.startswith("airflow_"))
    end_servers(stack.home, state.processes, airflows, print)
    left = tuple(record for record in state.processes if record.server not in airflows)
    replace(state, airflow=None, processes=left).write(stack.home)


@pytest.fixture(scope="package")
def api(airflow: AirflowAddress) -> AirflowApi:
    """A client of the admin's."""
    return log_in(airflow)


@pytest.fixture(scope="package")
def token(airflow: AirflowAddress) -> str:
    """The admin's."""
    return token_of(airflow, airflow.user)


@pytest.fixture(scope="package")
def begun(api: AirflowApi) -> DagRun:
    """The first run of ingest of `inventory`."""
    api.await_dag("ingest_inventory")
    return api.trigger("ingest_inventory", "by_hand")


@pytest.fixture(scope="package")
def ingested(api: AirflowApi, begun: DagRun) -> Ingested:
    """That run, once it has published."""
    [ended] = api.await_end([begun], print, deadline_s=900)
    return Ingested(api, ended)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        started = launch(playwright)
        if started is None:
            pytest.skip(MISSING)
        yield started
        started.close()


@pytest.fixture(scope="package")
def admin(airflow: AirflowAddress, browser: Browser) -> Person:
    """The admin, who has logged in."""
    return arrive(browser, airflow, airflow.user)


@pytest.fixture(scope="package")
def page(admin: Person) -> Page:
    """The admin's page."""
    return admin.page


@pytest.fixture(scope="package")
def watched(
    stack: Stack, api: AirflowApi, admin: Person, schedule: Schedule, ingested: Ingested
) -> Watched:
    """A scheduled run, which begins once a person lets the Dag run, seen in the browser.

    Behind the other source's first run: on two busy cores both at once last longer than a test may.
    """
    return watch(stack, api, admin, schedule)


@pytest.fixture(scope="package")
def backfill(
    stack: Stack, api: AirflowApi, admin: Person, watched: Watched, schedule: Schedule
) -> Backfill:
    """A backfill that a person has started while a scheduled run was due; it goes on."""
    return start_backfill(api, admin, Ledger(stack.settings), watched, schedule)
