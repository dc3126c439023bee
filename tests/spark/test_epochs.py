"""Failover: the log goes on in that of another server, whose positions are lower."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import parse_source
from lakehouse.plan.epochs import Epoch
from lakehouse.spark.parsing.epochs import epoch_of, log_of
from tests.support.binlog import ITEMS, ORDERS, MariaDb, MySql, create, update
from tests.support.failover import EXPECTED, OTHER, ROW, epochs, findings, life, open_source
from tests.support.runs import Runs, laws_hold


@pytest.fixture
def runs(spark, settings, tmp_path, request) -> Runs:
    name = request.function.__name__.removeprefix("test_")[:40]
    return open_source(spark, settings, tmp_path, name)


def test_positions_order_by_epoch_first(spark: SparkSession):
    known = {"0-1": ((1, 5), (7, 7)), "uuid:tag": ((1, 1),)}
    logs = (Epoch({("t", 0): 3}, known, ("01",)), Epoch({("t", 0): 8, ("t", 1): 0}, {}))
    rows = [
        ("t", 0, 2, "0-1-9", "09", 0),
        ("t", 0, 3, "0-1-7", "02", 0),
        ("t", 0, 4, "0-1-6", "02", 1),
        ("t", 0, 5, "0-2-7", "03", 1),
        ("t", 0, 6, None, "04", 1),
        ("t", 0, 6, None, "01", 0),
        ("t", 0, 7, "uuid:tag:1", "05", 0),
        ("t", 0, 7, "uuid:1", "05", 1),
        ("t", 0, 7, "no GTID", "05", 1),
        ("t", 0, 8, "0-1-1", "01", 2),
        ("t", 1, 0, "0-1-1", "01", 2),
        ("u", 0, 0, None, None, 0),
    ]
    events = spark.createDataFrame(
        rows, "topic string, partition int, offset long, gtid string, log string, epoch int"
    )
    placed = events.selectExpr("*", f"concat({log_of(logs, 'gtid', 'log')}, log) AS position")
    found = placed.selectExpr("epoch", f"{epoch_of('position')} AS found", "position").collect()
    assert [row["found"] for row in found] == [row["epoch"] for row in found]
    texts = [row["position"] for row in found if row["position"]]
    assert sorted(texts) == [
        *("01", "02", "05", "09"),
        *(f"~000001|{log}" for log in ("02", "03", "04", "05", "05")),
        *("~000002|01",) * 2,
    ]


@pytest.mark.further
def test_a_failover_to_lower_positions_is_newer(runs: Runs):
    server = MySql(runs.source.name)
    life(server, lambda: None)
    outcomes = runs.run(server)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", *ROW[:3]) == EXPECTED
    assert [row[3] for row in runs.rows("orders", *ROW)] == [
        f"~000001|0000000002.{place:020d}.0000000000" for place in (114, 234, 244)
    ]
    (epoch,) = epochs(runs)
    assert epoch.known == {MySql.server[:-1]: ((1, 2),)}
    assert epoch.starts[f"{runs.source.name}.public.orders", 0] == 5  # Behind a tombstone.
    assert findings(outcomes) == []


@pytest.mark.further
def test_what_comes_again_from_the_new_server_stays_in_its_epoch(runs: Runs):
    server = MySql(runs.source.name)
    first = server.commit(create(1, "a"))
    second = server.commit(update(1, "b"))
    runs.run(server)

    # The new server has both; the connector had not stored how far it was.
    server.fail_over(OTHER, file=2)
    server.commit(update(1, "b"), gtid=second)
    server.commit(create(2, "c"))
    runs.run(server)
    assert runs.rows("orders", *ROW[:3]) == [(1, "b", 0), (2, "c", 1)]
    (epoch,) = epochs(runs)

    server.commit(create(1, "a"), gtid=first)
    outcomes = runs.run(server)
    law = outcomes["apply"].counts[f"{runs.source.name}.public.orders[0]"]
    assert isinstance(law, dict)
    assert (law["applied"], law["superseded"]) == (0, 1)
    assert runs.rows("orders", *ROW[:3]) == [(1, "b", 0), (2, "c", 1)]
    assert epochs(runs) == (epoch,)
    assert findings(outcomes) == []


@pytest.mark.further
def test_a_topic_partition_that_lags_behind_a_failover_goes_on_in_the_old_log_first(runs: Runs):
    server = MySql(runs.source.name, framed=False)
    server.read(ORDERS, {"id": 9, "name": "read"})
    server.read(ITEMS, {"id": 2, "name": "read"})
    server.commit(create(1, "a"))
    server.commit((ITEMS, "c", None, {"id": 1, "name": "a"}))
    server.commit(update(1, "b"))
    server.fail_over(OTHER, file=2)
    server.commit(update(1, "c"))
    server.commit(*((ITEMS, "u", None, {"id": key, "name": "b"}) for key in (1, 2)))
    every = server.messages
    server.messages = [message for message in every if "items" not in str(message["topic"])]
    runs.run(server)
    assert len(epochs(runs)) == 1

    server.messages = every
    outcomes = runs.run(server)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", *ROW[:3]) == [(1, "c", 1), (9, "read", 0)]
    assert runs.rows("items", *ROW[:3]) == [(1, "b", 1), (2, "b", 1)]


@pytest.mark.further
def test_a_topic_partition_that_lags_behind_two_failovers_goes_on_in_each_log(runs: Runs):
    server = MySql(runs.source.name, framed=False)
    server.commit(*(create(key, "a", ITEMS) for key in (1, 2, 3)))
    first = server.mark()
    server.file = 30
    server.commit(create(1, "a"))
    server.commit(*(update(key, "b", ITEMS) for key in (1, 2, 3)))  # No other topic tells it.
    server.fail_over(OTHER, file=20, number=10)
    server.commit(update(1, "c", ITEMS))
    server.commit(update(1, "c"))
    server.commit(update(2, "c", ITEMS))  # Nor this one.
    server.fail_over("5d1f6a0e-71ca-11e1-9e33-c80aa9429562:", file=10, number=20)
    server.commit(update(1, "d", ITEMS))
    server.commit(update(1, "d"))
    every = server.messages
    late = [m for m in every[first:] if "items" in str(m["topic"])]
    server.messages = [message for message in every if message not in late]
    runs.run(server)
    assert runs.rows("orders", *ROW[:3]) == [(1, "d", 2)]

    server.messages = every
    outcomes = runs.run(server)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("items", *ROW[:3]) == [(1, "d", 2), (2, "c", 1), (3, "b", 0)]
    assert len(epochs(runs)) == 2
    assert findings(outcomes) == []


def test_events_whose_begin_has_not_landed_tell_a_new_log(runs: Runs):
    server = MySql(runs.source.name)
    server.file = 30
    server.commit(create(1, "a"), create(1, "a", ITEMS))
    first = server.mark()
    server.fail_over(OTHER, file=20, number=10)
    server.commit(update(1, "b"))
    server.commit(update(1, "b", ITEMS))
    late = [m for m in server.messages[first:] if str(m["topic"]).endswith(".transaction")]
    server.fail_over("5d1f6a0e-71ca-11e1-9e33-c80aa9429562:", file=10, number=20)
    second = server.mark()
    server.commit(update(1, "c", ITEMS))
    server.commit(update(1, "c"))
    every = server.messages
    server.messages = [message for message in every[:second] if message not in late]
    runs.run(server)
    assert runs.rows("orders", *ROW[:3]) == [(1, "a", 0)]
    (epoch,) = epochs(runs)
    assert epoch.known == {MySql.server[:-1]: ((1, 1),)}

    server.messages = every
    outcomes = runs.run(server)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", *ROW[:3]) == runs.rows("items", *ROW[:3]) == [(1, "c", 2)]
    assert [sorted(e.known) for e in epochs(runs)] == [
        [MySql.server[:-1]],
        sorted((MySql.server[:-1], OTHER[:-1])),
    ]


@pytest.mark.further
def test_a_server_of_which_no_begin_has_landed_is_behind_every_one_that_has(runs: Runs):
    server = MySql(runs.source.name)
    server.file = 30
    server.commit(create(1, "a"), create(1, "a", ITEMS))
    for file, name in ((20, "b"), (10, "c")):  # Its topic partition tells neither of them.
        server.fail_over(f"00000000-71ca-11e1-9e33-0000000000{file}:", file=file)
        server.commit(update(1, name))
    first = server.mark()
    server.fail_over(OTHER, file=5)
    server.commit(update(1, "d", ITEMS))
    second = server.mark()
    server.commit(update(1, "d"))
    every = server.messages
    late = [m for m in every[first:] if str(m["topic"]).endswith(".transaction")]
    server.messages = [message for message in every[:second] if message not in late]
    runs.run(server)
    assert runs.rows("orders", *ROW[:3]) == [(1, "c", 2)]

    server.messages = every
    outcomes = runs.run(server)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", *ROW[:3]) == runs.rows("items", *ROW[:3]) == [(1, "d", 3)]
    assert findings(outcomes) == []


@pytest.mark.further
@pytest.mark.parametrize("framed", [True, False])
def test_an_incremental_snapshot_alone_shows_the_log_of_a_server_that_is_new(
    spark, settings, tmp_path, *, framed: bool
):
    runs = open_source(spark, settings, tmp_path, f"increments_{int(framed)}")
    server = MySql(runs.source.name, framed=framed)
    server.commit(create(1, "a"), create(2, "a"))
    behind = server.position
    server.commit(update(1, "b"))
    server.commit(create(1, "a", ITEMS))
    # The connector was restarted, and reads at a transaction that these rows' topic never had.
    newest, server.position, server.number = server.position, behind, 1
    server.read_increment(ITEMS, {"id": 1, "name": "a"}, {"id": 2, "name": "b"})
    server.position, server.number = newest, 3
    assert findings(runs.run(server)) == []
    assert epochs(runs) == ()

    server.fail_over(OTHER, file=2, number=1)
    server.read_increment(ORDERS, {"id": 2, "name": "c"})
    assert findings(runs.run(server)) == []
    assert len(epochs(runs)) == 1
    server.commit(update(1, "d"))
    assert findings(runs.run(server)) == []
    assert runs.rows("orders", *ROW[:3]) == [(1, "d", 1), (2, "c", 1)]
    assert runs.rows("items", *ROW[:3]) == [(1, "a", 0), (2, "b", 0)]
    assert len(epochs(runs)) == 1


@pytest.mark.further
@pytest.mark.parametrize("lags", [True, False])
def test_what_an_incremental_snapshot_reads_of_a_new_server_first_is_of_its_log(
    spark, settings, tmp_path, *, lags: bool
):
    """Also where the topic partition, for which nothing else tells it, lags behind the failover."""
    runs = open_source(spark, settings, tmp_path, f"reads_first_{int(lags)}")
    server = MySql(runs.source.name, framed=False)
    server.file = 30
    server.commit(create(1, "a"), create(1, "a", ITEMS), create(2, "a", ITEMS))
    first = server.mark()
    server.fail_over(OTHER, file=20, number=10)
    server.commit(update(1, "b"))
    server.read_increment(ITEMS, {"id": 1, "name": "b"}, {"id": 2, "name": "b"})
    server.commit(update(1, "c", ITEMS))
    every = server.messages
    if lags:
        late = [m for m in every[first:] if "items" in str(m["topic"])]
        server.messages = [message for message in every if message not in late]
        runs.run(server)
        assert len(epochs(runs)) == 1

    server.messages = every
    outcomes = runs.run(server)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("items", *ROW[:3]) == [(1, "c", 1), (2, "b", 1)]
    assert findings(outcomes) == []


@pytest.mark.further
def test_without_gtids_nothing_but_a_finding_tells_a_new_log(spark, settings, tmp_path):
    runs = open_source(spark, settings, tmp_path, "manual", 'epoch = "manual"\n')
    server = MySql("manual", server="")
    server.commit(create(1, "a"), create(2, "a"))
    assert findings(runs.run(server)) == []
    server.fail_over("", file=2)
    server.commit(update(1, "b"), create(3, "b"))
    outcomes = runs.run(server)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", *ROW[:3]) == [(1, "a", 0), (2, "a", 0), (3, "b", 0)]
    assert epochs(runs) == ()
    assert "manual.public.orders[0]: from offset 2 on, " in " ".join(findings(outcomes))


@pytest.mark.further
def test_a_restart_of_the_connector_is_no_new_log(runs: Runs):
    server = MySql(runs.source.name)
    server.commit(create(1, "a"))
    server.commit(update(1, "b"))
    server.redeliver(0, first_without_commit=False)
    server.commit(update(1, "c"))
    server.redeliver(4, first_without_commit=False)
    outcomes = runs.run(server)
    server.redeliver(0, first_without_commit=False)
    again = runs.run(server)
    assert runs.rows("orders", *ROW[:3]) == [(1, "c", 0)]
    assert epochs(runs) == ()
    assert findings(outcomes) == findings(again) == []


@pytest.mark.further
def test_mariadb_tells_a_new_log_by_domain_and_server(spark, settings, tmp_path):
    source = parse_source('connector = "mariadb"\ntopic_prefix = "maria"\n', "maria")
    runs = Runs(spark, settings, tmp_path, source)
    server = MariaDb("maria")
    server.commit(create(1, "a"))
    last = server.commit(update(1, "b"))
    server.commit(update(1, "c"))  # The second server never had it.
    runs.run(server)
    server.fail_over("0-12-", file=2, number=2)
    server.commit(update(1, "b"), gtid=last)
    server.commit(update(1, "d"), update(1, "e"))
    outcomes = runs.run(server)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", *ROW[:3]) == [(1, "e", 1)]
    (epoch,) = epochs(runs)
    assert epoch.known == {"0-11": ((1, 3),)}


@pytest.mark.further
@pytest.mark.parametrize("framed", [True, False])
def test_a_server_behind_the_new_one_is_of_no_older_log_where_nothing_falls(
    spark, settings, tmp_path, framed
):
    name = f"maria_{framed}".lower()
    source = parse_source(f'connector = "mariadb"\ntopic_prefix = "{name}"\n', name)
    runs, server = Runs(spark, settings, tmp_path, source), MariaDb(name, framed=framed)
    server.file = 5
    server.commit(create(1, "a"))
    server.commit(create(1, "a", ITEMS))
    server.fail_over("0-12-", file=2, number=10)
    server.commit(update(1, "b"))
    server.fail_over("0-13-", file=9, number=20)
    server.commit(update(1, "b", ITEMS))  # No topic partition tells that it is behind 0-12.
    server.commit(create(2, "c", ITEMS))
    outcomes = runs.run(server)
    assert laws_hold(outcomes["apply"])
    assert findings(outcomes) == []
    assert runs.rows("orders", *ROW[:3]) == [(1, "b", 1)]
    assert runs.rows("items", *ROW[:3]) == [(1, "b", 1), (2, "c", 1)]
    assert [set(epoch.known) for epoch in epochs(runs)] == [{"0-11"}]
