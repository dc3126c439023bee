"""Someone who may look and start nothing, in a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from infra.airflow import VIEWER_USER
from infra.state import AirflowAddress
from tests.stack.with_airflow.asking import call
from tests.stack.with_airflow.conftest import Ingested
from tests.stack.with_airflow.person import Person, arrive

DAG = "ingest_inventory"


@pytest.fixture(scope="module")
def viewer(airflow: AirflowAddress, browser: Browser) -> Iterator[Person]:
    person = arrive(browser, airflow, VIEWER_USER)
    yield person
    person.page.context.close()


def test_a_viewer_sees_the_runs_of_a_dag(viewer: Person, ingested: Ingested):
    viewer.opens(f"/dags/{DAG}/runs")
    row = viewer.page.locator("tbody tr").filter(has_text=ingested.run.run_id)
    expect(row.get_by_test_id("state-badge")).to_have_text("Success")


def test_a_viewer_who_fills_in_a_form_is_refused_and_nothing_starts(
    viewer: Person, ingested: Ingested, token: str
):
    """Airflow's pages show a viewer the buttons: its interface refuses what they ask for."""
    runs = f"{viewer.url}/api/v2/dags/{DAG}/dagRuns"
    before = call(runs, token=token)["total_entries"]
    form = viewer.opens_form(DAG)
    assert viewer.sends(form).status == 403
    expect(form).to_contain_text("403 Forbidden")
    assert call(runs, token=token)["total_entries"] == before


def test_a_viewer_who_switches_a_dag_is_refused(viewer: Person, ingested: Ingested, token: str):
    viewer.opens(f"/dags/{DAG}")
    with viewer.page.expect_response(lambda answer: answer.request.method == "PATCH") as sent:
        viewer.page.get_by_test_id("toggle-pause").first.click()
    assert sent.value.status == 403
    assert call(f"{viewer.url}/api/v2/dags/{DAG}", token=token)["is_paused"] is False
