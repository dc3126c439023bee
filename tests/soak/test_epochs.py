"""Failovers that `tests/spark/test_epochs.py` leaves out: lags, snapshots, truncates, replays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakehouse.spark.tables import full_name
from lakehouse.steps.runner import execute
from tests.support.binlog import ITEMS, ORDERS, MySql, create, update
from tests.support.failover import EXPECTED, OTHER, ROW, epochs, findings, life, open_source
from tests.support.runs import Runs, laws_hold


@pytest.fixture
def runs(spark, settings, tmp_path, request) -> Runs:
    name = request.function.__name__.removeprefix("test_")[:40]
    return open_source(spark, settings, tmp_path, name)


def test_a_failover_is_found_whatever_the_batches(runs: Runs):
    server = MySql(runs.source.name)
    life(server, lambda: runs.run(server))
    outcomes = runs.run(server)
    assert runs.rows("orders", *ROW[:3]) == EXPECTED
    (epoch,) = epochs(runs)
    assert epoch.known == {MySql.server[:-1]: ((1, 2),)}
    assert findings(outcomes) == []


def test_a_transaction_that_the_first_server_sent_half_goes_on_in_the_second_log(runs: Runs):
    server = MySql(runs.source.name)
    server.commit(create(1, "a"), create(2, "a"))
    changes = update(1, "b"), update(2, "b"), update(1, "c")
    half = server.commit(*changes, last=1)
    runs.run(server)
    assert runs.rows("orders", "id", "name") == [(1, "a"), (2, "a")]

    server.fail_over(OTHER, file=2)
    server.commit(*changes, gtid=half, first=1)
    outcomes = runs.run(server)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", *ROW[:3]) == [(1, "c", 1), (2, "b", 1)]


def test_each_failover_begins_an_epoch(runs: Runs):
    server = MySql(runs.source.name)
    for number, (name, log) in enumerate([(MySql.server, 9), (OTHER, 5), (MySql.server, 2)]):
        server.fail_over(name, file=log, number=10 * number)
        server.commit((ORDERS, "u" if number else "c", None, {"id": 1, "name": str(number)}))
    runs.run(server)
    assert runs.rows("orders", *ROW[:3]) == [(1, "2", 2)]
    server.fail_over(OTHER, file=1, number=50)
    server.commit(update(1, "3"))
    runs.run(server)
    assert runs.rows("orders", *ROW[:3]) == [(1, "3", 3)]


def test_a_source_snapshot_of_another_server_alone_is_no_evidence(runs: Runs):
    server = MySql(runs.source.name)
    server.read(ITEMS, {"id": 1, "name": "a"})
    server.commit(create(1, "a"))
    assert findings(runs.run(server)) == []
    server.fail_over(OTHER, file=2)
    server.read(ORDERS, {"id": 1, "name": "b"})
    server.read(ITEMS, {"id": 1, "name": "b"})
    told = " ".join(findings(runs.run(server)))
    assert runs.rows("orders", *ROW[:3]) == [(1, "a", 0)]
    assert runs.rows("items", *ROW[:3]) == [(1, "a", 0)]
    assert epochs(runs) == ()
    assert "orders[0]: from offset 1 on, " in told
    assert "items[0]: from offset 1 on, " in told


@pytest.mark.parametrize("framed", [True, False])
def test_topic_partitions_that_lag_find_the_same_rows(spark, settings, tmp_path, *, framed: bool):
    runs = open_source(spark, settings, tmp_path, f"lagging_{int(framed)}")
    server = MySql(runs.source.name, framed=framed)
    server.commit(create(1, "a"), create(1, "a", ITEMS))
    server.file = 30
    server.commit(update(1, "b"))
    server.fail_over(OTHER, file=12)
    server.commit(update(1, "c", ITEMS))  # No lower than what its topic had.
    start = server.mark()
    server.commit(update(1, "c"), update(1, "d", ITEMS))
    lagging = [m for m in server.messages[start:] if str(m["topic"]).endswith("orders")]
    assert len(lagging) == 1
    server.messages = [m for m in server.messages if m not in lagging]
    assert laws_hold(runs.run(server)["apply"])
    server.messages += lagging
    server.commit(update(1, "e", ITEMS))
    assert laws_hold(runs.run(server)["apply"])
    server.commit(update(1, "f"))
    assert laws_hold(runs.run(server)["apply"])
    assert runs.rows("orders", *ROW[:3]) == [(1, "f", 1)]
    assert runs.rows("items", "id", "name") == [(1, "e")]
    assert len(epochs(runs)) == 1


def test_versions_of_a_row_go_on_over_epochs(spark, settings, tmp_path):
    more = '[tables."public.orders"]\nhistory = true\n'
    runs = open_source(spark, settings, tmp_path, "versions_of_logs", more)
    server = MySql(runs.source.name)
    life(server, lambda: runs.run(server))
    table = runs.spark.table(full_name("silver_versions_of_logs.public__orders__history"))
    found = table.where("id = 1").orderBy("_version.from_position")
    assert [tuple(row) for row in found.selectExpr("name", "_version.epoch").collect()] == [
        *(("a", 0), ("c", 0), ("d", 1)),
    ]


def test_what_is_replayed_has_the_epoch_of_its_log(spark, settings, tmp_path):
    declared = '[tables."public.orders"]\ncolumns.name = {{ type = "{}" }}\n'
    runs = open_source(spark, settings, tmp_path, "replayed_logs", declared.format("int"))
    server = MySql("replayed_logs")
    old = server.commit(create(1, "1"))
    server.commit(update(1, "2"))
    runs.run(server)
    server.fail_over(OTHER, file=2)
    server.commit(update(1, "3000000000"), create(2, "3"))
    server.commit(update(1, "1"), gtid=old)
    runs.run(server)
    assert runs.rows("orders", *ROW[:3]) == [(1, 2, 0), (2, 3, 1)]
    before = epochs(runs)

    wide = open_source(spark, settings, tmp_path, "replayed_logs", declared.format("bigint"))
    context = replace(wide.context(), replay=True)
    assert laws_hold(execute("apply", context))
    for step in ("validate", "publish"):
        assert execute(step, context).status == "succeeded"
    assert runs.rows("orders", *ROW[:3]) == [(1, 3_000_000_000, 1), (2, 3, 1)]
    assert epochs(runs) == before


@pytest.mark.parametrize("framed", [True, False])
@pytest.mark.parametrize("together", [True, False])
def test_a_change_after_a_source_snapshot_alone_may_be_of_a_new_log(
    spark, settings, tmp_path, *, framed: bool, together: bool
):
    runs = open_source(spark, settings, tmp_path, f"idle_{int(framed)}{int(together)}")
    server = MySql(runs.source.name, framed=framed)
    server.read(ORDERS, {"id": 1, "name": "a"}, {"id": 2, "name": "a"})
    if not together:
        runs.run(server)
    server.fail_over(OTHER, file=2)
    server.commit(update(1, "b"))
    outcomes = runs.run(server)
    assert runs.rows("orders", *ROW[:3]) == [(1, "b", 1), (2, "a", 0)]
    assert findings(outcomes) == []


def test_streaming_that_goes_on_from_before_a_source_snapshot_is_in_its_log(runs: Runs):
    server = MySql(runs.source.name, framed=False)
    server.commit(create(1, "a"))
    server.position += 500
    server.read(ORDERS, {"id": 1, "name": "b"}, {"id": 2, "name": "b"})
    server.position -= 500
    server.commit(update(1, "b"))
    server.commit(create(2, "b"))
    outcomes = runs.run(server)
    assert runs.rows("orders", *ROW[:3]) == [(1, "b", 0), (2, "b", 0)]
    assert (epochs(runs), findings(outcomes)) == ((), [])


@pytest.mark.parametrize("together", [True, False])
def test_a_truncate_where_nothing_came_before_is_in_the_new_log(
    spark, settings, tmp_path, *, together: bool
):
    runs = open_source(spark, settings, tmp_path, f"truncated_{int(together)}")
    server = MySql(runs.source.name, partitions=2)
    server.commit(create(2, "a"), create(4, "a"), create(9, "a", ITEMS))
    assert {m["partition"] for m in server.messages if "orders" in str(m["topic"])} == {1}
    runs.run(server)
    server.fail_over(OTHER, file=2)
    # A statement of its own has no BEGIN, and a truncate is in the first topic partition.
    server.framed = False
    server.commit((ORDERS, "t", None, None))
    server.framed = True
    if not together:
        runs.run(server)
    server.commit(create(2, "b"))
    outcomes = runs.run(server)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", *ROW[:3]) == [(2, "b", 1)]
    assert runs.rows("items", *ROW[:3]) == [(9, "a", 0)]
    assert len(epochs(runs)) == 1


@pytest.mark.parametrize("together", [True, False])
def test_a_table_that_the_new_server_creates_again_is_another_table(
    spark, settings, tmp_path, *, together: bool
):
    runs = open_source(spark, settings, tmp_path, f"created_{int(together)}")
    server = MySql(runs.source.name)
    server.define(ORDERS, "CREATE")
    server.commit(create(1, "a"), create(2, "a"), create(3, "a", ITEMS))
    server.commit(update(1, "b"), update(3, "b", ITEMS))
    if not together:
        runs.run(server)
    server.fail_over(OTHER, file=2)
    server.define(ORDERS, "DROP")
    server.define(ORDERS, "CREATE")
    server.commit(create(1, "c"), update(3, "c", ITEMS))
    outcomes = runs.run(server)
    assert laws_hold(outcomes["apply"])
    assert findings(outcomes) == []
    assert runs.rows("orders", *ROW[:3]) == [(1, "c", 1)]
    assert runs.rows("orders__retired_1", *ROW[:3]) == [(1, "b", 0), (2, "a", 0)]
    assert runs.rows("items", *ROW[:3]) == [(3, "c", 1)]
