"""What a person sees of data quality in Airflow: in a browser, with and without a login."""

from __future__ import annotations

import json
import urllib.request

import pytest
from playwright.sync_api import Page, expect

from infra.state import AirflowAddress
from tests.stack.conftest import Stack
from tests.stack.with_airflow.asking import call, status, token_of
from tests.stack.with_airflow.conftest import Ingested
from tests.stack.with_airflow.person import framed

RUN = "/dags/ingest_inventory/runs/by_hand"
PAGES = (
    "/lakehouse/",
    "/lakehouse/sources/inventory/index.html",
    "/lakehouse/runs/ingest_inventory/by_hand",
)
STARTS = {
    "/api/v2/dags/ingest_inventory/dagRuns": {"dag_run_id": "mine", "logical_date": None},
    "/api/v2/backfills": {
        "dag_id": "ingest_inventory",
        "from_date": "2026-01-01T00:00:00Z",
        "to_date": "2026-01-01T00:05:00Z",
    },
    f"/api/v2{RUN.replace('/runs/', '/dagRuns/')}/clear": {"dry_run": False},
}


def cut_of(ingested: Ingested, token: str) -> str:
    """The cut that the run published, as its last task told Airflow."""
    url = f"{ingested.api.url}/api/v2{RUN.replace('/runs/', '/dagRuns/')}"
    entry = call(f"{url}/taskInstances/publish/xcomEntries/return_value", token=token)
    value = entry["value"]
    return (json.loads(value) if isinstance(value, str) else value)["cut"]


@pytest.mark.parametrize("path", PAGES)
def test_no_page_answers_without_a_login(airflow: AirflowAddress, ingested: Ingested, path: str):
    assert status(airflow.url + path) == 401


def test_a_viewer_reads_reports_and_starts_nothing(airflow: AirflowAddress, ingested: Ingested):
    token = token_of(airflow, "viewer")
    assert {path: status(airflow.url + path, token=token) for path in PAGES} == dict.fromkeys(
        PAGES, 200
    )
    refused = {
        path: status(airflow.url + path, body=body, token=token) for path, body in STARTS.items()
    }
    assert refused == dict.fromkeys(STARTS, 403)


@pytest.mark.parametrize(
    "path",
    [
        "sources/inventory/..%2f..%2fstack.json",
        "sources/inventory/%2e%2e/%2e%2e/stack/secrets/passwords.json",
        "sources/..%2fstack/secrets%2fpasswords.json",
        "sources/..%2freports%2finventory/index.html",
        "sources/inventory/missing.html",
        "runs/ingest_inventory/no_such_run",
    ],
)
def test_nothing_but_reports_is_served(airflow: AirflowAddress, token: str, path: str):
    assert status(f"{airflow.url}/lakehouse/{path}", token=token) == 404


def test_what_stands_in_a_page_cannot_act(airflow: AirflowAddress, ingested: Ingested, token):
    request = urllib.request.Request(
        airflow.url + PAGES[1], headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_the_navigation_leads_to_the_data_quality_of_a_source(page: Page, ingested: Ingested):
    page.get_by_test_id("nav-sidebar").get_by_role("link", name="Data quality").click()
    frame = framed(page)
    frame.get_by_role("link", name="inventory", exact=True).click()
    expect(frame.locator("h1")).to_contain_text("inventory")
    frame.get_by_role("link", name="Reports").click()
    expect(frame.locator("header")).to_contain_text("Reports of inventory")


def test_the_tab_of_a_run_shows_its_report(
    stack: Stack, page: Page, ingested: Ingested, token: str
):
    assert ingested.run.state == "success"
    page.goto(ingested.api.url + RUN)
    # The menu has a link of this name too, and is there before the run's tabs are.
    page.locator(f'a[href$="{RUN}/plugin/data_quality_of_run"]').click()
    frame = framed(page)
    expect(frame.locator("body")).to_contain_text("by_hand")
    cut = cut_of(ingested, token)
    expect(frame.locator("body")).to_contain_text(cut)
    reports = stack.settings.home / "reports" / "inventory"
    assert json.loads((reports / cut / "report.json").read_text())["run_id"] == "by_hand"


def test_a_task_leads_to_the_report(page: Page, ingested: Ingested, token: str):
    task = f"/api/v2{RUN.replace('/runs/', '/dagRuns/')}/taskInstances/publish/links"
    links = call(ingested.api.url + task, token=token)["extra_links"]
    page.goto(links["Data quality"])
    expect(framed(page).locator("body")).to_contain_text("by_hand")


@pytest.mark.further
def test_a_run_that_is_cleared_shows_no_older_try(page: Page, ingested: Ingested, token: str):
    clear = f"{ingested.api.url}/api/v2{RUN.replace('/runs/', '/dagRuns/')}/clear"
    call(clear, body={"dry_run": False}, token=token)
    page.goto(f"{ingested.api.url}{RUN}/plugin/data_quality_of_run")
    expect(framed(page).locator("h1")).to_contain_text("by_hand")
    expect(framed(page).locator("body")).to_contain_text("its report is written where it ends")
    [ended] = ingested.api.await_end([ingested.run], print, deadline_s=300)
    assert ended.state == "success"
    page.reload()
    expect(framed(page).locator("body")).to_contain_text("nothing landed and no table changed")
