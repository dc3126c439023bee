"""Transactions that are sent in parts, sent again, or open while a snapshot is taken."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from lakehouse.plan.records import RESULTS, STEPS
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold, open_runs

ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
ITEMS = Table("items", ORDERS.columns)


@pytest.fixture
def runs(spark, settings, tmp_path, request) -> Runs:
    name = request.function.__name__.removeprefix("test_")[:40]
    return open_runs(spark, settings, tmp_path, name)


def row(number: int, name: str) -> dict[str, object]:
    return {"id": number, "name": name}


@pytest.mark.further
# How far the database's clock, or what the connector takes for its zone, is ahead of Kafka's.
@pytest.mark.parametrize(
    "ahead_ms", [0, *(pytest.param(h * 3_600_000, marks=pytest.mark.further) for h in (-2, 2))]
)
def test_the_rest_of_a_published_transaction_that_comes_again_holds_nothing_back(
    spark, settings, tmp_path, ahead_ms
):
    runs = open_runs(spark, settings, tmp_path, f"rest_again_{ahead_ms // 3_600_000 % 24}")
    connector = Postgres(runs.source.name)
    connector.transact((ORDERS, "c", None, row(1, "a")), (ORDERS, "c", None, row(2, "b")))
    for message in connector.messages:
        message["timestamp"] -= ahead_ms
    runs.run(connector)

    again = [m for m in connector.messages if '"id":2' in str(m["key"]) or "END" in str(m["value"])]
    first = len(connector.messages)
    connector.clock_ms += 10 * 86_400_000
    for message in (connector.messages[0], *again):
        connector.send_raw(str(message["topic"]), str(message["key"]), str(message["value"]))
    connector.transact((ORDERS, "u", row(2, "b"), row(2, "c")))
    for message in connector.messages[first:]:
        message["timestamp"] -= ahead_ms
    outcomes = runs.run(connector)

    assert laws_hold(outcomes["apply"])
    assert "0 messages wait" in outcomes["apply"].message
    assert runs.rows("orders", "id", "name") == [(1, "a"), (2, "c")]


def test_a_transaction_whose_end_landed_first_is_not_looked_for_in_what_landed_before(runs: Runs):
    connector, rest = Postgres(runs.source.name), STEPS[1:]
    connector.transact((ORDERS, "c", None, row(1, "a")))
    runs.run(connector)
    old = list((runs.settings.home / "warehouse/bronze" / runs.source.name).rglob("*.parquet"))

    connector.transact((ORDERS, "u", row(1, "a"), row(1, "b")), (ITEMS, "c", None, row(1, "a")))
    late = next(m for m in connector.messages if str(m["topic"]).endswith(".items"))
    connector.messages.remove(late)
    runs.run(connector, ("land",))
    for file in old:
        file.rename(file.with_suffix(".away"))
    assert laws_hold(runs.steps(steps=rest)["apply"])
    assert runs.rows("orders", "id", "name") == [(1, "a")]

    for file in old:
        file.with_suffix(".away").rename(file)
    connector.messages.append(late)
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("orders", "id", "name") == [(1, "b")]
    assert runs.rows("items", "id", "name") == [(1, "a")]


@pytest.mark.further
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


def test_a_whole_transaction_with_an_event_behind_one_that_waits_waits_as_a_whole(runs: Runs):
    connector = Postgres(runs.source.name)
    connector.transact((ORDERS, "c", None, row(1, "a")), (ITEMS, "c", None, row(1, "a")))
    lost = next(m for m in connector.messages if str(m["topic"]).endswith(".orders"))
    second = connector.mark()
    connector.transact((ORDERS, "c", None, row(2, "b")), end=False)
    waits = connector.messages[second + 1]
    connector.messages.remove(lost)
    for message in (lost, waits):  # The connector was restarted.
        text = str(message["key"]), str(message["value"])
        connector.send_raw(str(message["topic"]), *text)
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert outcomes["apply"].counts[f"{runs.source.name}.public.items[0]"]["applied"] == 0

    connector.finish("public.orders", 1)
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", "id", "name") == [(1, "a"), (2, "b")]
    assert runs.rows("items", "id", "name") == [(1, "a")]


def test_logical_messages_that_end_counts_are_not_waited_for(runs: Runs):
    connector = Postgres(runs.source.name)
    connector.transact((ORDERS, "c", None, row(1, "a")), end=False)
    connector.send_raw(f"{runs.source.name}.message", '{"prefix": "p"}', '{"op": "m"}')
    connector.finish("public.orders", 1, messages=1)
    connector.transact((ORDERS, "c", None, row(2, "b")))

    outcomes = runs.run(connector)

    assert laws_hold(outcomes["apply"])
    assert "0 messages wait" in outcomes["apply"].message
    assert runs.rows("orders", "id", "name") == [(1, "a"), (2, "b")]


@pytest.mark.further
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


@pytest.mark.further
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


@pytest.mark.further
def test_an_event_behind_those_that_a_published_end_counts_holds_nothing_back(runs: Runs):
    connector = Postgres(runs.source.name)
    connector.transact((ORDERS, "c", None, row(1, "a")))
    runs.run(connector)

    connector.transact((ITEMS, "c", None, row(2, "b")))
    connector.transact((ORDERS, "c", None, row(3, "c")), end=False)
    sent = next(m for m in connector.messages if str(m["topic"]).endswith(".orders"))
    value = json.loads(str(sent["value"]))
    value["payload"]["source"]["lsn"] += 5
    value["payload"]["source"]["sequence"] = json.dumps([None, str(connector.lsn + 5)])
    value["payload"]["after"]["name"] = "late"
    connector.send_raw(str(sent["topic"]), str(sent["key"]), json.dumps(value))
    outcomes = runs.run(connector)

    assert laws_hold(outcomes["apply"])
    assert "(3 for the rest of a transaction)" in outcomes["apply"].message
    assert runs.rows("items", "id", "name") == [(2, "b")]

    connector.finish("public.orders", 1)
    connector.transact((ITEMS, "c", None, row(4, "d")))
    outcomes = runs.run(connector)

    assert laws_hold(outcomes["apply"])
    assert "0 messages wait" in outcomes["apply"].message
    assert "behind those that its END counts" in str(outcomes["apply"].detail["findings"])
    assert runs.rows("orders", "id", "name") == [(1, "late"), (3, "c")]
    assert runs.rows("items", "id", "name") == [(2, "b"), (4, "d")]


@pytest.mark.further
def test_an_event_whose_begin_never_comes_waits_no_longer_than_the_timeout(runs: Runs):
    connector = Postgres(runs.source.name)
    connector.transact((ITEMS, "c", None, row(1, "a")))
    connector.transact((ORDERS, "c", None, row(1, "a")), end=False)
    begin = next(m for m in reversed(connector.messages) if "BEGIN" in str(m["value"]))
    connector.messages.remove(begin)
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("items", "id", "name") == [(1, "a")]

    connector.clock_ms += 1 + int(runs.source.transactions.timeout.total_seconds() * 1000)
    connector.send_raw(f"__debezium-heartbeat.{runs.source.name}", "{}", '{"ts_ms":1}')
    outcomes = runs.run(connector)

    assert laws_hold(outcomes["apply"])
    assert "0 messages wait" in outcomes["apply"].message
    assert "after the timeout" in str(outcomes["apply"].detail["findings"])
    assert runs.rows("orders", "id", "name") == [(1, "a")]


@pytest.mark.further
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


def send_mark(
    connector: Postgres, status: str, ident: str, total: int = 0, counts: Mapping[str, int] = {}
) -> None:
    listed = [{"data_collection": name, "event_count": count} for name, count in counts.items()]
    mark = {"status": status, "id": ident, "event_count": total, "data_collections": listed}
    value = json.dumps(mark | {"ts_ms": connector.clock_ms})
    connector.send_raw(f"{connector.prefix}.transaction", None, value)


def test_each_fault_of_the_marks_is_counted_and_reported(runs: Runs):
    connector, orders = Postgres(runs.source.name), "public.orders"
    connector.transact((ORDERS, "c", None, row(1, "a")))
    send_mark(connector, "END", "900")
    for status in ("END", "BEGIN"):
        send_mark(connector, status, "901")
    send_mark(connector, "BEGIN", "902")
    for counts in ({}, {orders: 0}):
        send_mark(connector, "END", "902", 0, counts)
    send_mark(connector, "BEGIN", "903")
    send_mark(connector, "END", "903", 3)
    events = [(ORDERS, "c", None, row(number, "a")) for number in range(2, 8)]
    # The second has an event too many, the third one too few, and the fourth lists none.
    for number, (mine, counted) in enumerate([(2, 2), (2, 1), (1, 2), (1, None)]):
        connector.transact(*events[number : number + mine], end=False)
        counts = {orders: counted} if counted else {}
        send_mark(connector, "END", str(connector.transaction), counted or 0, counts)
    connector.transact(events[0], end=False)
    connector.transact((ORDERS, "c", None, row(8, "a")), end=False)
    connector.send_raw(f"{connector.prefix}.transaction", None, "{}")
    connector.messages.append(connector.messages[-1] | {"partition": 1, "offset": 0})
    connector.clock_ms += 2 * 3_600_000
    connector.snapshot(ORDERS, [row(9, "a")])

    outcomes = runs.run(connector)

    assert outcomes["apply"].detail["marks"] == {
        "messages_in_other_partitions": 1,
        "unreadable_marks": 2,
        "ends_without_begin": 1,
        "ends_before_begin": 1,
        "lost_ends": 1,
        "differing_ends": 1,
        "miscounted_ends": 1,
        "short_transactions": 1,
        "surplus_transactions": 1,
        "transactions_with_unlisted_events": 1,
        "overdue_transactions": 1,
        "open_transactions": 0,
    }
    judged = [r for r in runs.ledger.rows(RESULTS, source=runs.source.name) if not r.success]
    assert sum(result.suite == "transactions" for result in judged) == 11
    assert outcomes["validate"].detail["verdicts"] == {
        f"silver_{runs.source.name}.public__orders": "passed"
    }


@pytest.mark.parametrize(
    "mark",
    ["{", '{"status":"MAYBE","id":"700"}']
    + [pytest.param(m, marks=pytest.mark.further) for m in ("{}", '{"status":"BEGIN"}')],
)
def test_a_mark_that_cannot_be_read_holds_nothing_back(spark, settings, tmp_path, mark):
    runs = open_runs(spark, settings, tmp_path, f"unreadable_mark_{len(mark)}")
    connector = Postgres(runs.source.name)
    connector.send_raw(f"{runs.source.name}.transaction", None, mark)
    connector.transact((ORDERS, "c", None, row(1, "a")))
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert "0 messages wait" in outcomes["apply"].message
    assert runs.rows("orders", "id", "name") == [(1, "a")]
