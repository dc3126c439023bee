"""A source that is due every few minutes: the run that is watched, and the backfill beside one."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from infra.airflow_api import AirflowApi
from lakehouse.config import Settings
from lakehouse.plan.records import STEPS
from lakehouse.spark.control.ledger import Ledger
from tests.stack.conftest import Stack
from tests.stack.with_airflow.asking import call, until
from tests.stack.with_airflow.person import Person

SOURCE = "warehouse"
DAG = f"ingest_{SOURCE}"
PERIOD = timedelta(minutes=2)
INTERVALS = 5
LONGEST_S = 4 * PERIOD.total_seconds()
_MINUTES = PERIOD // timedelta(minutes=1)
# A day that there is not before 2028: runs of the other sources are a person's.
NEVER = "0 0 29 2 *"


@dataclass(frozen=True)
class Watched:
    """A scheduled run as a person has seen it end.

    Attributes:
        start: Of its data interval.
        kind: The type of run that the page shows.
        tasks: Task → the state that the page shows.
    """

    run_id: str
    start: datetime
    kind: str
    tasks: Mapping[str, str]


@dataclass(frozen=True)
class Backfill:
    """A backfill that has begun.

    Attributes:
        starts: Of its data intervals.
        before: Silver table → hash of its rows when it began.
    """

    starts: tuple[datetime, ...]
    before: Mapping[str, str]


@dataclass(frozen=True)
class Schedule:
    """The stack's settings with files that make one source due every few minutes, no other one.

    Attributes:
        complete: When all of the source's snapshot was in Kafka; an interval ends right behind.
    """

    settings: Settings
    complete: datetime


def reschedule(stack: Stack, folder: Path) -> Schedule:
    """Write the files."""
    shutil.copytree(stack.settings.sources, folder)
    stack.barrier(SOURCE)
    complete = datetime.now(UTC)
    first = (complete.minute + 1) % _MINUTES
    for file in folder.glob("*.toml"):
        run_at(file, f"{first}-59/{_MINUTES} * * * *" if file.stem == SOURCE else NEVER)
    return Schedule(stack.settings.model_copy(update={"sources": folder}), complete)


def run_at(file: Path, times: str) -> None:
    """Change when a source is due."""
    text, found = re.subn('interval = ".*"', f'interval = "{times}"', file.read_text())
    assert found == 1
    file.write_text(text)


def end_after(file: Path, duration: str | None) -> None:
    """Change how long a task of a source may take; None for as long as one that hangs."""
    text = re.sub('timeout = ".*"\n', "", file.read_text())
    more = "" if duration is None else f'timeout = "{duration}"\n'
    file.write_text(text.replace("[schedule]\n", f"[schedule]\n{more}"))


def isolate(file: Path, isolation: str) -> None:
    """Change whether a run of a source is one application, or each step its own."""
    text = re.sub('isolation = ".*"\n', "", file.read_text())
    file.write_text(text.replace("[schedule]\n", f'[schedule]\nisolation = "{isolation}"\n'))


def is_due(api: AirflowApi, behind: datetime) -> bool:
    """Whether the Dag, which stands still, has a run to make whose interval ends behind a time.

    Airflow knows of a later one once it has read the Dag's file again.
    """
    found = call(f"{api.url}/api/v2/dags?dag_id_pattern={DAG}", token=api.token)["dags"]
    ends = [dag["next_dagrun_data_interval_end"] for dag in found]
    return any(end and behind < datetime.fromisoformat(end) <= datetime.now(UTC) for end in ends)


def runs(api: AirflowApi) -> list[dict[str, Any]]:
    """The Dag's runs, oldest interval first."""
    found = call(f"{api.url}/api/v2/dags/{DAG}/dagRuns?limit=100", token=api.token)
    return sorted(found["dag_runs"], key=lambda run: run["logical_date"])


def scheduled_behind(api: AirflowApi, start: datetime) -> list[dict[str, Any]]:
    """The Dag's scheduled runs of later intervals."""
    later = (run for run in runs(api) if run["run_type"] == "scheduled")
    return [run for run in later if datetime.fromisoformat(run["logical_date"]) > start]


def contents(ledger: Ledger) -> dict[str, str]:
    """Silver table → hash of its rows, whatever their order, in the newest published cut."""
    cut = ledger.newest_cut(SOURCE)
    assert cut is not None
    found = {}
    for name in cut.tables:
        rows = ledger.catalog.load_table(name).scan(snapshot_id=cut.tables[name]).to_arrow()
        texts = sorted(repr(row) for row in rows.to_pylist())
        found[name] = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    return found


def changed(stack: Stack, schedule: Schedule) -> datetime:
    """When rows came last that are of one of the intervals which will be had once more.

    On a slow machine the snapshot is of an earlier one by now; rows that change are not.
    """
    if datetime.now(UTC) - schedule.complete < (INTERVALS - 2) * PERIOD:
        return schedule.complete
    stack.run(SOURCE, "UPDATE articles SET unit_price = unit_price + 1 WHERE id <= 20")
    stack.barrier(SOURCE)
    return datetime.now(UTC)


def watch(stack: Stack, api: AirflowApi, admin: Person, schedule: Schedule) -> Watched:
    """Let the Dag run, watch its first run to its end, and let the Dag stand still again."""
    last = changed(stack, schedule)
    until(lambda: is_due(api, last), f"expected a run of {DAG} to be due", LONGEST_S)
    admin.switches(DAG)
    run, *_ = until(lambda: runs(api), f"expected a run of {DAG}")
    admin.sees_end(DAG, run["dag_run_id"])
    page = admin.page
    kind = page.get_by_test_id("header-card").get_by_text("Scheduled", exact=True).inner_text()
    rows = page.locator("tbody tr")
    expect(rows.get_by_test_id("state-badge")).to_have_text(["Success"] * len(STEPS))
    tasks = {
        row.get_by_role("link").first.inner_text(): row.get_by_test_id("state-badge").inner_text()
        for row in rows.all()
    }
    admin.switches(DAG)
    start = datetime.fromisoformat(run["data_interval_start"])
    return Watched(run["dag_run_id"], start, kind, tasks)


def start_backfill(
    api: AirflowApi, admin: Person, ledger: Ledger, watched: Watched, schedule: Schedule
) -> Backfill:
    """Have five past intervals once more, the watched run's last; the dialog lets the Dag run.

    One scheduled run begins beside them, and then no other one.
    """
    starts = tuple(watched.start - PERIOD * before for before in reversed(range(INTERVALS)))

    def is_beside() -> bool:
        # On a slow machine it has begun before the Dag stood still.
        begun = [run for run in runs(api) if run["state"] in ("queued", "running")]
        return bool(begun) or is_due(api, watched.start + PERIOD)

    until(is_beside, f"expected one more run of {DAG} to be due", LONGEST_S)
    before = contents(ledger)
    admin.backfills(DAG, starts[0], starts[-1], runs=INTERVALS)
    until(lambda: scheduled_behind(api, watched.start), f"expected the run of {DAG} that was due")
    run_at(schedule.settings.sources / f"{SOURCE}.toml", NEVER)
    return Backfill(starts, before)
