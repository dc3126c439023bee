"""What a person does in Airflow's pages: log in, let a Dag run, fill in forms, read logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from playwright.sync_api import Browser, FrameLocator, Locator, Page, Response, expect

from infra.airflow_api import AirflowApi, log_in
from infra.state import AirflowAddress
from tests.stack.with_airflow.asking import password_of

PATIENCE_MS = 90_000
# A run of ingest waits for others, and for a slow machine.
RUN_S = 900
# A page that a busy server did not answer once may not ask again.
RELOADED_MS = 60_000
# Without a graphics card half a core draws what turns while a page waits.
_STILL = """
    document.addEventListener("DOMContentLoaded", () => {
      const still = document.createElement("style");
      still.textContent = "*, *::before, *::after {animation: none !important}";
      document.head.append(still);
    });
"""


@dataclass(frozen=True)
class Person:
    """Someone who has logged in."""

    page: Page
    url: str
    api: AirflowApi

    def opens(self, path: str) -> None:
        """Open one of Airflow's pages."""
        self.page.goto(self.url + path)

    def switches(self, dag: str) -> None:
        """Let a Dag run that stood still, or the other way round."""
        self.opens(f"/dags/{dag}")
        with self.page.expect_response(lambda answer: answer.request.method == "PATCH") as sent:
            self.page.get_by_test_id("toggle-pause").first.click()
        assert sent.value.ok

    def opens_form(self, dag: str) -> Locator:
        """The dialog in which a run is started."""
        self.opens(f"/dags/{dag}")
        self.page.get_by_test_id("trigger-dag-button").click()
        return self.page.get_by_role("dialog").first

    def sends(self, form: Locator) -> Response:
        """How Airflow answers the form."""
        with self.page.expect_response(_starts_a_run) as sent:
            form.get_by_test_id("trigger-dag-submit").click()
        return sent.value

    def starts(self, dag: str, fields: Mapping[str, str] | None = None) -> str:
        """Fill in the fields, each line a line, and start a run.

        Returns:
            The run's id.
        """
        form = self.opens_form(dag)
        for name, text in (fields or {}).items():
            field = form.locator(f"#element_{name}")
            if name == "action":
                field.click()
                self.page.get_by_role("option", name=text).click()
            else:
                field.fill(text)
        answer = self.sends(form)
        assert answer.ok, answer.text()
        return answer.json()["dag_run_id"]

    def backfills(self, dag: str, first: datetime, last: datetime, *, runs: int) -> None:
        """Have all runs once more whose intervals begin at these times and in between."""
        form = self.opens_form(dag)
        form.get_by_text("Backfill", exact=True).click()
        for number, time in enumerate((first, last)):
            form.get_by_test_id("datetime-input").nth(number).click()
            self.page.get_by_placeholder("YYYY/MM/DD").fill(f"{time:%Y/%m/%d}")
            self.page.get_by_placeholder("HH:mm").fill(f"{time:%H:%M}")
            form.get_by_text("Date Range").click()
            expect(self.page.get_by_placeholder("HH:mm")).to_have_count(0)
        form.get_by_text("All Runs", exact=True).click()
        form.locator('input[type="number"]').fill(str(runs))
        expect(form).to_contain_text(f"{runs} runs will be triggered.")
        with self.page.expect_response(lambda a: a.url.endswith("/backfills")) as sent:
            form.get_by_role("button", name="Run Backfill").click()
        assert sent.value.ok, sent.value.text()

    def sees_end(self, dag: str, run_id: str, state: str = "Success") -> None:
        """See on its page that a run has ended as expected.

        Until it has, no page is open: one that is watched takes a sixth of a core.
        """
        self.page.goto("about:blank")
        self.api.await_end([self.api.find_run(dag, run_id)], print, RUN_S)
        self.opens(f"/dags/{dag}/runs/{run_id}")
        shown = self.page.get_by_test_id("header-card").get_by_test_id("state-badge")
        expect(shown).to_have_text(state)

    def reads_log(self, dag: str, run_id: str, task: str, words: str | re.Pattern[str]) -> str:
        """Watch the log of a task, which grows while the task runs, until it has the words.

        Returns:
            What is shown then.
        """
        self.opens(f"/dags/{dag}/runs/{run_id}/tasks/{task}")
        log = self.page.get_by_test_id("virtualized-list")
        if not self._comes_to(lambda ms: expect(log).to_contain_text(words, timeout=ms)):
            expect(log).to_contain_text(words)
        return log.inner_text()

    def _comes_to(self, look: Callable[[int], None]) -> bool:
        """Whether a page shows something before a run of ingest has to have ended."""
        for _ in range(RUN_S * 1000 // RELOADED_MS):
            try:
                look(RELOADED_MS)
            except AssertionError:
                self.page.reload()
            else:
                return True
        return False


def arrive(browser: Browser, airflow: AirflowAddress, user: str) -> Person:
    """Log in, in a window of its own whose clock is UTC."""
    window = {"width": 1600, "height": 1200}
    context = browser.new_context(viewport=window, timezone_id="UTC")
    context.add_init_script(_STILL)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(airflow.url)
    page.locator('input[name="username"]').fill(user)
    page.locator('input[name="password"]').fill(password_of(airflow, user))
    page.locator('button[type="submit"]').click()
    page.wait_for_url(lambda url: "/login" not in url)
    return Person(page, airflow.url, log_in(airflow))


def framed(page: Page) -> FrameLocator:
    """The page inside Airflow's."""
    return page.frame_locator('iframe[title="Data quality"]')


def _starts_a_run(answer: Response) -> bool:
    return answer.request.method == "POST" and answer.url.endswith("/dagRuns")
