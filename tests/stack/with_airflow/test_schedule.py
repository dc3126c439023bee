"""Runs that a schedule starts, and a backfill beside them, as a person sees them in Airflow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from infra.airflow_api import AirflowApi
from lakehouse.plan.records import STEPS
from lakehouse.spark.control.ledger import Ledger
from tests.stack.conftest import Stack
from tests.stack.with_airflow.asking import until
from tests.stack.with_airflow.person import Person
from tests.stack.with_airflow.scheduled import (
    DAG,
    SOURCE,
    Backfill,
    Watched,
    contents,
    runs,
)

Run = dict[str, Any]


@pytest.fixture(scope="module")
def ledger(stack: Stack) -> Ledger:
    return Ledger(stack.settings)


@pytest.fixture(scope="module")
def ended(api: AirflowApi, backfill: Backfill) -> list[Run]:
    """All runs of the Dag, once those of the backfill and the one that was due have ended."""

    def all_ended() -> list[Run]:
        found = runs(api)
        mine = [run for run in found if run["run_type"] == "backfill"]
        due = [run for run in found if run["run_type"] == "scheduled"]
        waited = [*mine, *due[:1]]
        is_over = all(run["state"] in ("success", "failed") for run in waited)
        return found if is_over and len(mine) == len(backfill.starts) and due else []

    return until(all_ended, "expected the runs of the backfill to end", 1_500)


# Two of the days at which the source is due by now: all messages are of the second interval.
EARLY, EARLY_END = "2020-02-29", "2024-02-29"


def moment(run: Run, name: str) -> datetime:
    return datetime.fromisoformat(run[name])


def test_a_scheduled_run_is_seen_to_end_with_five_green_tasks_and_a_published_cut(
    watched: Watched, ledger: Ledger
):
    assert watched.kind == "Scheduled"
    assert dict(watched.tasks) == dict.fromkeys(STEPS, "Success")
    first = next(cut for cut in ledger.cuts(SOURCE) if cut.state == "published")
    assert first.run_id == watched.run_id
    assert any(name.endswith("__articles") for name in first.tables)


def test_a_backfill_of_five_intervals_has_all_runs_of_them_once_more(
    admin: Person, backfill: Backfill, watched: Watched, ended: list[Run]
):
    mine = [run for run in ended if run["run_type"] == "backfill"]
    assert [moment(run, "data_interval_start") for run in mine] == list(backfill.starts)
    assert {run["state"] for run in mine} == {"success"}
    assert mine[-1]["dag_run_id"] == watched.run_id
    admin.opens(f"/dags/{DAG}/runs?run_type=backfill")
    rows = admin.page.locator("tbody tr").filter(has_text="Backfill")
    expect(rows.get_by_test_id("state-badge")).to_have_text(["Success"] * len(backfill.starts))


def test_a_backfill_leaves_silver_as_it_is_while_a_scheduled_run_is_due(
    backfill: Backfill, ledger: Ledger, ended: list[Run]
):
    due = next(run for run in ended if run["run_type"] == "scheduled")
    assert (due["state"], moment(due, "data_interval_start") > backfill.starts[-1]) == (
        "success",
        True,
    )
    assert contents(ledger) == backfill.before


def test_a_backfill_derives_the_rows_of_its_intervals_again_and_says_that_none_differs(
    ledger: Ledger, ended: list[Run]
):
    ids = {run["dag_run_id"] for run in ended if run["run_type"] == "backfill"}
    said = {
        row.run_id: row.message
        for row in ledger.runs(SOURCE)
        if row.run_id in ids and row.step == "apply" and "backfill" in json.loads(row.detail)
    }
    assert said.keys() == ids
    derived = {run: text for run, text in said.items() if "derived again" in text}
    # Rows came in one of the intervals at least: the source snapshot's, or later ones.
    assert derived
    assert all("none differ" in text for text in derived.values())


def test_runs_of_a_source_never_work_at_the_same_time(ledger: Ledger, ended: list[Run]):
    running = [
        (moment(run, "start_date"), moment(run, "end_date")) for run in ended if run["end_date"]
    ]
    # Airflow has several runs at once, the pool one task.
    assert any(later[0] < earlier[1] for earlier, later in pairwise(sorted(running)))
    steps = sorted(ledger.runs(SOURCE), key=lambda row: row.started_at)
    assert [
        (one.run_id, one.step, other.run_id, other.step)
        for one, other in pairwise(steps)
        if one.run_id != other.run_id and one.ended_at > other.started_at
    ] == []


@pytest.mark.further
def test_a_backfill_by_airflow_s_command_says_when_the_first_message_is(
    stack: Stack, api: AirflowApi, ledger: Ledger, backfill: Backfill, ended: list[Run]
):
    asked = ("--dag-id", DAG, "--reprocess-behavior", "completed")
    between = ("--from-date", EARLY, "--to-date", EARLY)

    def created() -> bool:
        told = airflow(stack, "backfill", "create", *asked, *between)
        # Airflow takes a while to see that the one before has ended.
        assert told.returncode == 0 or "AlreadyRunningBackfill" in told.stderr, told.stderr
        return told.returncode == 0

    until(created, "expected the first backfill to be over", 300)
    known = {run["dag_run_id"] for run in ended}

    def over() -> list[Run]:
        new = [run for run in runs(api) if run["dag_run_id"] not in known]
        early = [run for run in new if run["run_type"] == "backfill"]
        return [run for run in early if run["state"] in ("success", "failed")]

    [run] = until(over, "expected the run of an early interval to end", 300)
    interval = [run[f"data_interval_{side}"][:10] for side in ("start", "end")]
    assert (run["state"], interval) == ("success", [EARLY, EARLY_END])
    [said] = [
        row.message
        for row in ledger.runs(SOURCE)
        if row.run_id == run["dag_run_id"] and "the first message is of" in row.message
    ]
    assert EARLY in said
    assert contents(ledger) == backfill.before


def airflow(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Airflow's own command, as README calls it."""
    return subprocess.run(
        [str(Path(sys.executable).parent / "airflow"), *arguments],
        env={"PATH": os.environ["PATH"], "AIRFLOW_HOME": str(stack.home.airflow)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
