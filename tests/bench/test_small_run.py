"""How long a run with a small change takes in Airflow, from its start to the published cut.

A stack of its own with one source, nothing else running; `BENCH_RUNS` says how many runs (5).
"""

from __future__ import annotations

import json
import statistics
import threading
from datetime import datetime

import pytest

from infra.airflow_api import AirflowApi, log_in
from infra.clients import run_sql
from infra.demo.barrier import Barrier
from infra.demo.home import write_sources
from infra.stack import running_stack
from lakehouse.config import Settings, load_source
from lakehouse.spark.control.ledger import Ledger
from tests.bench import sizes
from tests.bench.results import measured
from tests.stack.conftest import REPOSITORY

RUNS = sizes.number("RUNS", 5)
SOURCE, DAG = "inventory", "ingest_inventory"
CHANGE = (
    "BEGIN; UPDATE public.customers SET email = 'run{number}.' || id || '@example.com' "
    "WHERE id <= 10; UPDATE public.locations SET floor = {number}; COMMIT"
)
_MOST_S = 60


@pytest.mark.timeout(1800)
def test_a_run_with_a_small_change_takes_at_most_a_minute(tmp_path, result):
    settings = Settings.from_environment(
        {"LAKEHOUSE_HOME": str(tmp_path), "LAKEHOUSE_SOURCES": str(tmp_path / "sources")}
    )
    write_sources(settings, REPOSITORY / "dags" / "sources", by_the_clock=False)
    with running_stack(settings, sources=(SOURCE,)) as stack:
        assert stack.airflow is not None
        source, database = load_source(SOURCE, settings), stack.sources[SOURCE]
        barrier = Barrier(source, database, str(stack.kafka), threading.Event())
        barrier.pass_one()
        api = log_in(stack.airflow)
        api.await_dag(DAG)
        # The first load, and whatever run Airflow makes of its own once it may.
        run(api, "first")
        seconds = []
        for number in range(RUNS):
            run_sql(database, CHANGE.format(number=number))
            barrier.pass_one()
            started = run(api, f"small_{number}")
            published = published_at(settings, f"small_{number}")
            seconds.append((published - started).total_seconds())
    place = ("latency", "a run with a small change in Airflow")
    result(measured(place, "start to published cut", seconds, "s"))
    assert statistics.median(seconds) <= _MOST_S


def run(api: AirflowApi, run_id: str) -> datetime:
    """Trigger a run and wait for its end; when it started."""
    [ended] = api.await_end([api.trigger(DAG, run_id)], print, deadline_s=600)
    assert ended.state == "success"
    return datetime.fromisoformat(ended.started_at)


def published_at(settings: Settings, run_id: str) -> datetime:
    """When the cut of a run became the newest one; the run changed rows of two tables."""
    ledger = Ledger(settings)
    applied = ledger.newest_run(SOURCE, "apply", run_id)
    assert applied is not None
    tables = json.loads(applied.detail)["tables"]
    changed = {table["silver"].partition(".")[2] for table in tables if table["upserts"]}
    assert changed == {"public__customers", "public__locations"}
    [cut] = (
        row for row in ledger.cuts(SOURCE) if row.run_id == run_id and row.state == "published"
    )
    return cut.recorded_at
