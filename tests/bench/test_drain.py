"""W7: from a database over Kafka into published silver, beside what the connector sends.

`BENCH_CHANGES`, `BENCH_SHAPES`, `BENCH_WARM` (8), `BENCH_LIVE_S` (of the first shape; none with 0).
The connector sends all changes alone, then the product drains its topic alone, twice: with the
table's second run, and when so many more have warmed both up, as drivers and connectors are that
live long. Then both work at once, at half the connector's rate. Silver is compared with the
database.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from infra.home import StackHome
from infra.stack import running_stack
from lakehouse.config import Settings, load_source
from lakehouse.plan.progress import Progress
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.tables import full_name
from tests.bench import sizes
from tests.bench.results import Result, measured
from tests.bench.streamed import Streamed
from tests.stack.conftest import REPOSITORY
from tests.support.runs import Runs

CHANGES = sizes.number("CHANGES", 200_000, 20_000)
_ALL = "narrow_with,narrow_without,wide_with,wide_without"
SHAPES = sizes.text("SHAPES", _ALL, "narrow_with").split(",")
LIVE_S = sizes.number("LIVE_S", 600, 0)
WARM = sizes.number("WARM", 8, 1)
# Rows that are there before, and warm both up.
_ROWS, _AT_ONCE = CHANGES // 4, 1_000


@dataclass(frozen=True)
class Drain:
    """The product at a table's topic."""

    spark: SparkSession
    settings: Settings
    table: Streamed

    def run(self) -> float:
        """One run of all steps; seconds."""
        began = time.monotonic()
        runs = Runs(self.spark, self.settings, self.settings.home, self.table.source)
        for outcome in runs.steps().values():
            assert outcome.status == "succeeded", outcome.message
        return time.monotonic() - began

    def published(self) -> int:
        """How many changes of the topic are in the newest cut."""
        cut = Ledger(self.settings).newest_cut(self.table.name)
        assert cut is not None
        return Progress.from_json(cut.offsets).next_offset(self.table.topic, 0)

    def is_the_source(self) -> bool:
        """Whether silver has what the database has."""
        name = full_name(f"silver_{self.table.name}.public__{self.table.name}")
        sums = "count(*), sum(aid), sum(abalance), max(filler)"
        return tuple(self.spark.sql(f"SELECT {sums} FROM {name}").collect()[0]) == (
            self.table.figures()
        )


@pytest.mark.timeout(4 * 3600)
def test_the_product_drains_what_the_connector_sends(
    spark: SparkSession,
    settings: Settings,
    tmp_path: Path,
    result: Callable[[Result], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    variables = {
        "LAKEHOUSE_HOME": str(tmp_path),
        "LAKEHOUSE_SOURCES": str(REPOSITORY / "dags/sources"),
    }
    home = Settings.from_environment(variables)
    with running_stack(home, sources=("inventory",), airflow=False) as stack:
        monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps({"bootstrap.servers": stack.kafka}))
        inventory, rates = load_source("inventory", home), []
        for name in SHAPES:
            shape, _, schema = name.partition("_")
            table = Streamed(stack, StackHome(tmp_path), inventory, shape, schema == "with")
            drain = Drain(spark, settings, table)
            rates.append((_drained(drain, result), drain))
        if LIVE_S:
            rate, drain = rates[0]
            _live(drain, rate / 2, result)


def _drained(drain: Drain, result: Callable[[Result], None]) -> float:
    """The connector's rate, changes a second, once both are warm."""
    table = drain.table
    table.create()
    table.insert(0, _ROWS)
    table.await_sent(_ROWS)
    drain.run()

    def change() -> None:
        for _ in range(3):
            table.update(0, _ROWS)
        # Half as many rows as changes, then.
        table.insert(_ROWS, CHANGES - 3 * _ROWS)

    _raced(drain, change, "", result)
    for _ in range(WARM):
        table.resume()
        sent = table.sent()
        table.update(0, _ROWS)
        table.await_sent(sent + _ROWS)
        drain.run()

    def again() -> None:
        for _ in range(2):
            table.update(0, CHANGES // 2)

    return _raced(drain, again, ", warm", result)


def _raced(
    drain: Drain, change: Callable[[], None], when: str, result: Callable[[Result], None]
) -> float:
    """The connector sends all changes alone, then the product drains them; the former's rate."""
    table = drain.table
    table.stop()
    sent = table.sent()
    change()
    table.resume()
    table.await_sent(sent + CHANGES)
    rate = table.rate(sent, sent + CHANGES - 1)
    table.stop()
    drained = CHANGES / drain.run()
    assert drain.published() == sent + CHANGES
    assert drain.is_the_source()
    place = ("W7", f"{CHANGES:,} changes, {table.name} schema{when}")
    result(measured(place, "the connector alone", [rate], "changes/s"))
    result(measured(place, "the product alone", [drained], "changes/s"))
    beside = "the product beside the connector"
    result(measured(place, beside, [drained / rate], "times the rate", "at least 3"))
    return rate


def _live(drain: Drain, rate: float, result: Callable[[Result], None]) -> None:
    """Run after run while changes come at a rate; how far behind each run ends."""
    table = drain.table
    table.resume()
    sent, began, behind = table.sent(), time.monotonic(), []
    with _changing(table, rate) as changes:
        while time.monotonic() < began + LIVE_S:
            seconds = drain.run()
            left = drain.published()
            newest = table.sent()
            age = time.time() - table.sent_at(left) if newest > left else 0.0
            behind.append((newest - left, age, seconds))
    table.await_sent(sent + sum(changes))
    drain.run()
    assert drain.is_the_source()
    half = len(behind) // 2
    first, second = (max(age for _, age, _ in some) for some in (behind[:half], behind[half:]))
    place = ("W7", f"{LIVE_S} s beside {rate:,.0f} changes/s, {table.name} schema")
    lag = "oldest change that a run left"
    result(measured(place, f"{lag}, first half", [first], "s"))
    result(measured(place, f"{lag}, second half", [second], "s", "bounded"))
    result(measured(place, "changes left", [count for count, _, _ in behind], "changes"))
    result(measured(place, "a run", [seconds for _, _, seconds in behind], "s"))


@contextmanager
def _changing(table: Streamed, rate: float) -> Iterator[list[int]]:
    """While rows are updated so many times a second; how many were, by and by."""
    ended, changes = threading.Event(), list[int]()

    def change() -> None:
        began = time.monotonic()
        while not ended.wait(0.02):
            if sum(changes) + _AT_ONCE <= (time.monotonic() - began) * rate:
                table.update(sum(changes) % (_ROWS - _AT_ONCE), _AT_ONCE)
                changes.append(_AT_ONCE)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield changes
    finally:
        ended.set()
        thread.join()
