"""Airflow's components die, people clear and mark tasks, rivals start: silver is the source.

Each case disturbs a run at a moment of it; the next run ends well, whatever became of the one
before. They come last: the schedule's tests count on their source's snapshot being recent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from infra.airflow_api import AirflowApi
from lakehouse.names import bronze_table
from lakehouse.spark.ledger import Ledger
from tests.stack.conftest import Stack
from tests.stack.test_silver import assert_equal
from tests.stack.with_airflow.asking import call, until
from tests.stack.with_airflow.disturbing import FAULTS, RACES, end_worker
from tests.stack.with_airflow.moments import DAG, NAME, SENDING, AtWork, begin
from tests.stack.with_airflow.scheduled import Schedule
from tests.support.archives import Message
from tests.support.sampling import sample, share
from tests.support.topics import consumed

CASES = {
    f"{disturb.__name__} while {moment.name}": (kind, moment, disturb)
    for kind, cases in (("fault", FAULTS), ("race", RACES))
    for moment, disturb in cases
}
TRIED = sample(CASES, lambda case: CASES[case][0])


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("case", TRIED)
def test_silver_is_the_source_behind_a_run_that_was_disturbed(
    stack: Stack, api: AirflowApi, schedule: Schedule, figure: Callable[[str], None], case: str
):
    number, (_, moment, disturb) = list(CASES).index(case), CASES[case]
    barrier = stack.barrier(NAME)
    stack.run(
        NAME,
        f"UPDATE customers SET balance = {number} WHERE id % 10 = {number % 10}",
        f"DELETE FROM order_items WHERE order_id = {number + 1}",
        f"UPDATE orders SET total = total + 1 WHERE id % 10 = {number % 10}",
    )
    barrier.pass_one()
    at_work = begin(stack, api, schedule.settings, moment, f"disturbed_{number}")
    disturb(at_work)
    [disturbed] = api.await_end([at_work.run], print, 900)
    [after] = api.await_end([api.trigger(DAG, f"after_{number}")], print, 600)

    assert after.state == "success"
    ledger = Ledger(stack.settings)
    assert_equal(stack.source(NAME), stack.database(NAME), ledger)
    assert writers(ledger) == []
    assert doubled(ledger) == []
    figure(
        f"Airflow, {share(TRIED, list(CASES))}: {case}: the run ended as {disturbed.state}, the "
        "next one as success; one writer for each cut, no message twice, silver is the source"
    )


@pytest.mark.further
@pytest.mark.timeout(1800)
def test_a_signal_whose_task_is_killed_is_sent_once(
    stack: Stack, api: AirflowApi, schedule: Schedule
):
    sent = signals(stack)
    at_work = begin(stack, api, schedule.settings, SENDING, "signal_disturbed")
    end_worker(at_work)
    until(lambda: state(at_work) == "success", "expected another try to send it", 600)
    assert len(signals(stack)) == len(sent) + 1
    stack.barrier(NAME).pass_one()
    [after] = api.await_end([api.trigger(DAG, "behind_the_signal")], print, 600)
    assert after.state == "success"
    [followed] = api.await_end([at_work.run], print, 600)
    assert followed.state == "success"
    assert_equal(stack.source(NAME), stack.database(NAME), Ledger(stack.settings))


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
