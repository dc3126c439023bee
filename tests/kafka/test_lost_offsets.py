"""Offsets that expired before they were landed: a person accepts it, and silver says what it lacks.

The messages are in a real broker, from which they are deleted.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from lakehouse.quality.reports.table_states import TableState, list_tables
from lakehouse.steps.context import StepOutcome
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs
from tests.support.topics import Topics

ID, QTY = column("id", "int32", optional=False), column("qty", "int32")


class Expiring:
    """A source of two tables whose messages go to a real broker."""

    def __init__(self, topics: Topics, folder: Path, *, framed: bool = False) -> None:
        self.topics, self.sent = topics, 0
        # What waits for its rest does so in the time of messages, which is the broker's here.
        now_ms = time.time_ns() // 1_000_000
        self.connector = Postgres(topics.prefix, framed=framed, clock_ms=now_ms)
        if framed:
            topics.create(topic=f"{topics.prefix}.transaction")
        self.orders, self.letters = Table("orders", [ID, QTY]), Table("letters", [ID, QTY])
        for table in (self.orders, self.letters):
            topics.create(topic=f"{topics.prefix}.public.{table.name}")
        self.runs = Runs(topics.spark, topics.settings, folder, topics.source())

    def write(self, table: Table, **after: int) -> None:
        op = "u" if after.get("qty") else "c"
        self.connector.transact((table, op, None, after))

    def read_again(self, table: Table, **row: int) -> None:
        self.connector.read_increment(table, row)

    def send(self) -> None:
        news = self.connector.messages[self.sent :]
        self.sent += len(news)
        parts = ("topic", "key", "value")
        self.topics.produce([{part: one[part] for part in parts} for one in news])

    def run(self, *accepted: str) -> dict[str, StepOutcome]:
        self.send()
        self.runs = replace(self.runs, source=self.topics.source(accept_loss=accepted))
        return self.runs.steps()

    def states(self) -> dict[str, TableState]:
        ledger, source = self.runs.ledger, self.runs.source
        states = list_tables(ledger, source.name, source.connector, None)
        return {state.silver.rpartition("__")[2]: state for state in states}


@pytest.mark.parametrize("rest", [0, pytest.param(1, marks=pytest.mark.further)])
def test_a_table_whose_messages_were_lost_needs_a_snapshot_until_each_row_was_read(
    topics: Topics, tmp_path: Path, rest: int
) -> None:
    source = Expiring(topics, tmp_path)
    for number in (1, 2):
        source.write(source.orders, id=number, qty=0)
        source.write(source.letters, id=number, qty=0)
    assert {outcome.status for outcome in source.run().values()} == {"succeeded"}
    assert {state.state for state in source.states().values()} == {"live"}

    # An update that nobody lands; behind it comes another event, or none.
    source.write(source.orders, id=1, qty=7)
    for _ in range(rest):
        source.write(source.orders, id=3, qty=0)
    source.write(source.letters, id=2, qty=5)
    source.send()
    topics.expire_before(3)
    refused = source.run()
    assert refused["land"].status == "failed"
    assert "Offsets [2, 3) expired before they were landed" in refused["land"].message

    accepted = source.run(topics.topic)
    assert {outcome.status for outcome in accepted.values()} == {"succeeded"}
    states = source.states()
    assert states["letters"].state == "live"
    assert states["orders"].state == "needs snapshot"
    why = f"its rows: offsets [2, 3) of topic '{topics.topic}' partition 0 expired"
    assert why in states["orders"].reason
    assert states["orders"].reason.endswith("snapshot --table public.orders`")
    findings = json.dumps(accepted["apply"].detail["findings"])
    assert findings.count("silver_" + source.runs.source.name) == 1
    assert why in findings

    # It stays until the last older row was read, whatever else comes.
    source.write(source.orders, id=4, qty=0)
    source.read_again(source.orders, id=1, qty=7)
    assert source.run()["apply"].detail["findings"] == []
    assert source.states()["orders"].state == "needs snapshot"
    source.read_again(source.orders, id=2, qty=0)
    source.run()
    assert source.states()["orders"].state == "live"
    assert source.runs.rows("orders", "id", "qty")[:2] == [(1, 7), (2, 0)]


def test_a_transaction_that_lost_events_to_an_accepted_loss_waits_for_the_next_landing_alone(
    topics: Topics, tmp_path: Path
) -> None:
    source = Expiring(topics, tmp_path, framed=True)
    for number in (1, 2, 3):
        source.write(source.orders, id=number, qty=0)
    source.write(source.letters, id=1, qty=0)
    assert {outcome.status for outcome in source.run().values()} == {"succeeded"}

    # Of one transaction's three events two expire.
    source.connector.transact(
        *((source.orders, "u", None, {"id": number, "qty": 7}) for number in (1, 2, 3))
    )
    source.send()
    topics.expire_before(5)
    assert source.run()["land"].status == "failed"
    waiting = source.run(topics.topic)
    assert {outcome.status for outcome in waiting.values()} == {"succeeded"}
    assert "for the rest of a transaction" in waiting["apply"].message
    assert source.runs.rows("orders", "id", "qty") == [(1, 0), (2, 0), (3, 0)]

    source.write(source.letters, id=1, qty=5)
    done = source.run()

    assert "fewer events landed than END counts" in json.dumps(done["apply"].detail["findings"])
    assert source.runs.rows("orders", "id", "qty") == [(1, 0), (2, 0), (3, 7)]
    assert source.runs.rows("letters", "id", "qty") == [(1, 5)]
    assert source.states()["orders"].state == "needs snapshot"
