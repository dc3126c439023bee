"""What a person sees of data quality in Airflow: in a browser, with and without a login."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Page, expect, sync_playwright

from infra.state import AirflowAddress
from tests.stack.conftest import Stack
from tests.stack.with_airflow.conftest import ReadAgain, call, token_of
from tests.support.chromium import MISSING, launch

RUN = "/dags/ingest_inventory/runs/after_read_again"
PAGES = (
    "/lakehouse/",
    "/lakehouse/sources/inventory/index.html",
    "/lakehouse/runs/ingest_inventory/after_read_again",
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


def status(url: str, **more: object) -> int:
    """How a request is answered."""
    try:
        call(url, **more)
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code
    except json.JSONDecodeError:
        pass  # A page.
    return 200


def cut_of(read_again: ReadAgain, token: str) -> str:
    """The cut that the run published, as its last task told Airflow."""
    url = f"{read_again.api.url}/api/v2{RUN.replace('/runs/', '/dagRuns/')}"
    entry = call(f"{url}/taskInstances/publish/xcomEntries/return_value", token=token)
    value = entry["value"]
    return (json.loads(value) if isinstance(value, str) else value)["cut"]


@pytest.fixture(scope="module")
def page(airflow: AirflowAddress) -> Iterator[Page]:
    """A browser in which the admin has logged in."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        if browser is None:
            pytest.skip(MISSING)
        opened = browser.new_page(viewport={"width": 1600, "height": 1000})
        opened.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        opened.goto(airflow.url)
        opened.locator('input[name="username"]').fill(airflow.user)
        password = json.loads(Path(airflow.password_file).read_text())[airflow.user]
        opened.locator('input[name="password"]').fill(password)
        opened.locator('button[type="submit"]').click()
        opened.wait_for_url(lambda url: "/login" not in url)
        yield opened
        browser.close()


def framed(page: Page) -> FrameLocator:
    """The page inside Airflow's."""
    return page.frame_locator('iframe[title="Data quality"]')


@pytest.mark.parametrize("path", PAGES)
def test_no_page_answers_without_a_login(airflow: AirflowAddress, read_again: ReadAgain, path: str):
    assert status(airflow.url + path) == 401


def test_a_viewer_reads_reports_and_starts_nothing(airflow: AirflowAddress, read_again: ReadAgain):
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


def test_what_stands_in_a_page_cannot_act(airflow: AirflowAddress, read_again: ReadAgain, token):
    request = urllib.request.Request(
        airflow.url + PAGES[1], headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_the_navigation_leads_to_the_data_quality_of_a_source(page: Page, read_again: ReadAgain):
    page.get_by_role("link", name="Data quality").click()
    frame = framed(page)
    frame.get_by_role("link", name="inventory", exact=True).click()
    expect(frame.locator("h1")).to_contain_text("inventory")
    frame.get_by_role("link", name="Reports").click()
    expect(frame.locator("header")).to_contain_text("Reports of inventory")


def test_the_tab_of_a_run_shows_its_report(
    stack: Stack, page: Page, read_again: ReadAgain, token: str
):
    assert read_again.ingested.state == "success"
    page.goto(read_again.api.url + RUN)
    page.get_by_role("link", name="Data quality").last.click()
    frame = framed(page)
    expect(frame.locator("body")).to_contain_text("after_read_again")
    cut = cut_of(read_again, token)
    expect(frame.locator("body")).to_contain_text(cut)
    reports = stack.settings.home / "reports" / "inventory"
    assert json.loads((reports / cut / "report.json").read_text())["run_id"] == "after_read_again"


def test_a_task_leads_to_the_report(page: Page, read_again: ReadAgain, token: str):
    task = f"/api/v2{RUN.replace('/runs/', '/dagRuns/')}/taskInstances/publish/links"
    links = call(read_again.api.url + task, token=token)["extra_links"]
    page.goto(links["Data quality"])
    expect(framed(page).locator("body")).to_contain_text("after_read_again")


def test_a_run_that_is_cleared_shows_no_older_try(page: Page, read_again: ReadAgain, token: str):
    clear = f"{read_again.api.url}/api/v2{RUN.replace('/runs/', '/dagRuns/')}/clear"
    call(clear, body={"dry_run": False}, token=token)
    page.goto(f"{read_again.api.url}{RUN}/plugin/data_quality_of_run")
    expect(framed(page).locator("h1")).to_contain_text("after_read_again")
    expect(framed(page).locator("body")).to_contain_text("its report is written where it ends")
    [ended] = read_again.api.await_end([read_again.ingested], print, deadline_s=300)
    assert ended.state == "success"
    page.reload()
    expect(framed(page).locator("body")).to_contain_text("nothing landed and no table changed")
