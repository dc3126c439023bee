"""Transactions that are sent in parts, sent again, or open while a snapshot is taken."""

from __future__ import annotations

import pytest

from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold, open_runs

ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])


@pytest.fixture
def runs(spark, settings, tmp_path, request) -> Runs:
    name = request.function.__name__.removeprefix("test_")[:40]
    return open_runs(spark, settings, tmp_path, name)


def row(number: int, name: str) -> dict[str, object]:
    return {"id": number, "name": name}


def test_the_rest_of_a_published_transaction_that_comes_again_holds_nothing_back(runs: Runs):
    connector = Postgres(runs.source.name)
    connector.transact((ORDERS, "c", None, row(1, "a")), (ORDERS, "c", None, row(2, "b")))
    runs.run(connector)

    again = [m for m in connector.messages if '"id":2' in str(m["key"]) or "END" in str(m["value"])]
    begin = connector.messages[0]
    for message in (begin, *again):
        connector.send_raw(str(message["topic"]), str(message["key"]), str(message["value"]))
    connector.transact((ORDERS, "u", row(2, "b"), row(2, "c")))
    outcomes = runs.run(connector)

    assert laws_hold(outcomes["apply"])
    assert "0 messages wait" in outcomes["apply"].message
    assert runs.rows("orders", "id", "name") == [(1, "a"), (2, "c")]


def test_a_transaction_whose_first_events_landed_before_is_whole_with_its_last(runs: Runs):
    connector = Postgres(runs.source.name)
    connector.transact((ORDERS, "c", None, row(1, "a")))
    connector.transact(
        (ORDERS, "u", row(1, "a"), row(1, "b")), (ORDERS, "c", None, row(2, "b")), end=False
    )
    runs.run(connector)
    assert runs.rows("orders", "id", "name") == [(1, "a")]

    connector.finish("public.orders", 2)
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", "id", "name") == [(1, "b"), (2, "b")]


def test_a_begin_that_comes_again_ends_no_open_transaction(runs: Runs):
    connector = Postgres(runs.source.name)
    connector.transact((ORDERS, "c", None, row(1, "a")))
    runs.run(connector)
    connector.transact((ORDERS, "u", row(1, "a"), row(1, "b")), end=False)
    begin = connector.messages[0]
    connector.send_raw(str(begin["topic"]), str(begin["key"]), str(begin["value"]))
    for _ in range(2):
        assert laws_hold(runs.run(connector)["apply"])
        assert runs.rows("orders", "id", "name") == [(1, "a")]
        connector.send_raw(f"{runs.source.name}.public.other", None, "no event")


def test_a_transaction_that_lost_its_end_is_applied_once_a_later_one_has_landed(runs: Runs):
    connector = Postgres(runs.source.name)
    connector.transact((ORDERS, "c", None, row(1, "a")))
    connector.transact((ORDERS, "u", row(1, "a"), row(1, "b")), end=False)
    runs.run(connector)
    assert runs.rows("orders", "id", "name") == [(1, "a")]

    connector.transact((ORDERS, "c", None, row(2, "b")))
    connector.transact((ORDERS, "c", None, row(3, "c")))
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", "id", "name") == [(1, "b"), (2, "b"), (3, "c")]
    assert "END was lost" in str(outcomes["apply"].detail["findings"])


def test_a_later_event_of_another_topic_partition_does_not_end_the_wait(runs: Runs):
    numbers = range(1, 5)
    connector = Postgres(runs.source.name, partitions=2)
    connector.transact(*((ORDERS, "c", None, row(number, "a")) for number in numbers))
    runs.run(connector)
    start = connector.mark()
    for name in ("b", "c"):
        connector.transact(*((ORDERS, "u", None, row(number, name)) for number in numbers))
    lagging = [m for m in connector.messages[start:] if m["partition"] == 1]
    assert len(lagging) == 4
    connector.messages = [m for m in connector.messages if m not in lagging]
    assert laws_hold(runs.run(connector)["apply"])
    assert {name for _, name in runs.rows("orders", "id", "name")} == {"a"}

    connector.messages += lagging
    assert laws_hold(runs.run(connector)["apply"])
    assert {name for _, name in runs.rows("orders", "id", "name")} == {"c"}


def test_what_a_transaction_that_was_open_at_the_snapshot_changed_is_newer(runs: Runs):
    connector = Postgres(runs.source.name)
    connector.snapshot(ORDERS, [row(1, "a"), row(2, "b"), row(3, "c")])
    connector.lsn -= 500
    connector.transact((ORDERS, "d", row(1, "a"), None), (ORDERS, "u", row(2, "b"), row(2, "d")))
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("orders", "id", "name") == [(2, "d"), (3, "c")]
    connector.lsn = connector.last_commit = 1100  # It committed after the snapshot.
    connector.transact((ORDERS, "u", row(3, "c"), row(3, "e")))
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("orders", "id", "name") == [(2, "d"), (3, "e")]


@pytest.mark.parametrize("mark", ["{", "{}", '{"status":"BEGIN"}', '{"status":"MAYBE","id":"700"}'])
def test_a_mark_that_cannot_be_read_holds_nothing_back(spark, settings, tmp_path, mark):
    runs = open_runs(spark, settings, tmp_path, f"unreadable_mark_{len(mark)}")
    connector = Postgres(runs.source.name)
    connector.send_raw(f"{runs.source.name}.transaction", None, mark)
    connector.transact((ORDERS, "c", None, row(1, "a")))
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert "0 messages wait" in outcomes["apply"].message
    assert runs.rows("orders", "id", "name") == [(1, "a")]
