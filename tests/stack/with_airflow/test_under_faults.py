"""Airflow's components die, people clear and mark tasks, rivals start: silver is the source.

Each case disturbs a run at a moment of it; the next run ends well, whatever became of the one
before. They come last: the schedule's tests count on their source's snapshot being recent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise

import pytest

from infra.airflow_api import AirflowApi, DagRun
from lakehouse.names import bronze_table
from lakehouse.spark.control.ledger import Ledger
from tests.stack.conftest import Stack
from tests.stack.test_silver import assert_equal
from tests.stack.with_airflow.asking import call, until
from tests.stack.with_airflow.disturbing import FAULTS, RACES, end_worker
from tests.stack.with_airflow.moments import (
    ALONE,
    DAG,
    LANDED,
    NAME,
    SENDING,
    AtWork,
    Moment,
    begin,
    working,
)
from tests.stack.with_airflow.scheduled import Schedule, end_after, isolate
from tests.support.archives import Message
from tests.support.sampling import sample, share
from tests.support.topics import consumed

CASES = {
    f"{disturb.__name__} while {moment.name}": (moment, disturb)
    for moment, disturb in (*FAULTS, *RACES)
}
# A run takes twice as long on a quiet machine.
_TOO_SHORT = "10s"
# Races are tried without Airflow as well (`tests/spark/test_races.py`).
TRIED = sample(CASES, lambda _: "disturbed")


@pytest.mark.parametrize("case", TRIED)
def test_silver_is_the_source_behind_a_run_that_was_disturbed(
    stack: Stack, api: AirflowApi, schedule: Schedule, figure: Callable[[str], None], case: str
):
    moment, disturb = CASES[case]
    change(stack, list(CASES).index(case))
    at_work = begin(stack, api, schedule.settings, moment, f"disturbed_{list(CASES).index(case)}")
    disturb(at_work)
    [disturbed] = api.await_end([at_work.run], print, 900)
    is_done_by_the_next(stack, api, f"after_{at_work.run.run_id}")
    figure(
        f"Airflow, {share(TRIED, list(CASES))}: {case}: the run ended as {disturbed.state}, the "
        "next one as success; one writer for each cut, no message twice, silver is the source"
    )


@pytest.fixture(scope="module")
def in_tasks(api: AirflowApi, schedule: Schedule) -> Iterator[None]:
    """While each step of the source's runs is an application of its own."""
    file = schedule.settings.sources / f"{NAME}.toml"

    def is_read(operator: str) -> bool:
        task = call(f"{api.url}/api/v2/dags/{DAG}/tasks/apply", token=api.token)
        return bool(task["class_ref"]["class_name"] == operator)

    isolate(file, "task")
    until(lambda: is_read("SubmittedStep"), f"expected Airflow to read {file.name}")
    yield
    isolate(file, "run")
    until(lambda: not is_read("SubmittedStep"), f"expected Airflow to read {file.name} once more")


@pytest.mark.further
@pytest.mark.usefixtures("in_tasks")
@pytest.mark.parametrize("moment", ALONE, ids=lambda moment: moment.name)
def test_silver_is_the_source_behind_a_step_of_its_own_whose_worker_was_killed(
    stack: Stack, api: AirflowApi, schedule: Schedule, moment: Moment
):
    change(stack, ALONE.index(moment))
    at_work = begin(stack, api, schedule.settings, moment, f"alone_{moment.task}")
    end_worker(at_work)
    api.await_end([at_work.run], print, 900)
    is_done_by_the_next(stack, api, f"after_{at_work.run.run_id}")


def change(stack: Stack, number: int) -> None:
    """Change rows, and wait until Kafka has them."""
    barrier = stack.barrier(NAME)
    stack.run(
        NAME,
        f"UPDATE customers SET balance = {number} WHERE id % 10 = {number % 10}",
        f"DELETE FROM order_items WHERE order_id = {number + 1}",
        f"UPDATE orders SET total = total + 1 WHERE id % 10 = {number % 10}",
    )
    barrier.pass_one()


def is_done_by_the_next(stack: Stack, api: AirflowApi, run_id: str) -> None:
    """One more run ends well; silver is the source, and nothing was written by two or twice."""
    [after] = api.await_end([api.trigger(DAG, run_id)], print, 600)
    assert after.state == "success"
    ledger = Ledger(stack.settings)
    assert_equal(stack.source(NAME), stack.database(NAME), ledger)
    assert writers(ledger) == []
    assert doubled(ledger) == []


@pytest.mark.further
def test_a_signal_whose_task_is_killed_is_sent_once(
    stack: Stack, api: AirflowApi, schedule: Schedule
):
    sent = signals(stack)
    at_work = begin(stack, api, schedule.settings, SENDING, "signal_disturbed")
    end_worker(at_work)
    until(lambda: state(at_work) == "success", "expected another try to send it", 600)
    assert len(signals(stack)) == len(sent) + 1
    stack.barrier(NAME).pass_one()
    api.await_dag(DAG)
    [after] = api.await_end([api.trigger(DAG, "behind_the_signal")], print, 600)
    assert after.state == "success"
    [followed] = api.await_end([at_work.run], print, 600)
    assert followed.state == "success"
    assert_equal(stack.source(NAME), stack.database(NAME), Ledger(stack.settings))


@pytest.mark.further
def test_silver_is_the_source_behind_a_run_whose_tasks_took_too_long(
    stack: Stack, api: AirflowApi, schedule: Schedule
):
    stack.run(NAME, "UPDATE customers SET balance = balance + 1")
    stack.barrier(NAME).pass_one()
    with _limited(api, schedule):
        run = api.trigger(DAG, "hung")
        until(lambda: attempts(api, run) > 1, "expected Airflow to end the first try", 300)
        api.await_end([run], print, 900)
        assert working(LANDED) == []
    is_done_by_the_next(stack, api, "after_hung")


@contextmanager
def _limited(api: AirflowApi, schedule: Schedule) -> Iterator[None]:
    """While Airflow ends a task of the source that takes longer than a run does."""
    file, usual = schedule.settings.sources / f"{NAME}.toml", longest(api)
    end_after(file, _TOO_SHORT)
    until(lambda: longest(api) < usual, f"expected Airflow to read {file.name}")
    try:
        yield
    finally:
        end_after(file, None)
        until(lambda: longest(api) == usual, f"expected Airflow to read {file.name} once more")


def longest(api: AirflowApi) -> timedelta:
    """How long the task may take that starts the run, as Airflow knows it."""
    found = call(f"{api.url}/api/v2/dags/{DAG}/tasks/land", token=api.token)["execution_timeout"]
    return timedelta(days=found["days"], seconds=found["seconds"])


def attempts(api: AirflowApi, run: DagRun) -> int:
    """How often that task of a run was tried."""
    path = f"dags/{DAG}/dagRuns/{run.run_id}/taskInstances/land"
    return int(call(f"{api.url}/api/v2/{path}", token=api.token)["try_number"])


def signals(stack: Stack) -> list[Message]:
    """What was sent by the topic of the source's signals."""
    topic, address = stack.source(NAME).kafka.signals, stack.state.kafka
    assert topic
    assert address
    return consumed(address, [topic])


def state(at_work: AtWork) -> str | None:
    """How the task that worked at the moment stands."""
    url = f"{at_work.api.url}/api/v2/{at_work.task_path}"
    found: str | None = call(url, token=at_work.api.token)["state"]
    return found


def writers(ledger: Ledger) -> list[tuple[str, str]]:
    """Published cuts that two runs had a part in, or whose token is not above that before."""
    cuts = [cut for cut in ledger.cuts(NAME) if cut.state == "published"]
    runs: dict[str, set[str]] = {}
    for cut in cuts:
        runs.setdefault(cut.cut_id, set()).add(cut.run_id)
    shared = [(cut, ", ".join(sorted(some))) for cut, some in runs.items() if len(some) > 1]
    falling = [(a.cut_id, b.cut_id) for a, b in pairwise(cuts) if a.token > b.token]
    return shared + falling


def doubled(ledger: Ledger) -> list[tuple[object, ...]]:
    """Messages that bronze has twice."""
    rows = ledger.catalog.load_table(bronze_table(NAME)).scan(
        selected_fields=("topic", "partition", "offset")
    )
    places = Counter(tuple(row.values()) for row in rows.to_arrow().to_pylist())
    return [place for place, count in places.items() if count > 1]
