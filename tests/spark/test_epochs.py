"""Failover: the log goes on in that of another server, whose positions are lower."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.plan.epochs import Epoch, epochs_from_json
from lakehouse.spark.epochs import epoch_of, in_epoch
from lakehouse.spark.tables import full_name
from lakehouse.steps.runner import execute
from tests.support.binlog import ITEMS, ORDERS, MariaDb, MySql, create, delete, update
from tests.support.runs import Runs, laws_hold

OTHER = "9f2c11aa-71ca-11e1-9e33-c80aa9429562:"
ROW = ("id", "name", "_cdc.epoch", "_cdc.position")


def open_source(
    spark: SparkSession, settings: Settings, folder: Path, name: str, more: str = ""
) -> Runs:
    """A source of MySQL; `more` is added to its TOML file."""
    text = f'connector = "mysql"\ntopic_prefix = "{name}"\n{more}'
    return Runs(spark, settings, folder, parse_source(text, name))


@pytest.fixture
def runs(spark, settings, tmp_path, request) -> Runs:
    name = request.function.__name__.removeprefix("test_")[:40]
    return open_source(spark, settings, tmp_path, name)


def epochs(runs: Runs) -> tuple[Epoch, ...]:
    cut = runs.ledger.newest_cut(runs.source.name)
    assert cut is not None
    return epochs_from_json(cut.epochs)


def findings(outcomes) -> list[str]:
    found = outcomes["apply"].detail["findings"]
    assert isinstance(found, list)
    return [str(each) for each in found]


def life(server: MySql, step) -> None:
    """A row that changes on two servers; `step` follows each transaction."""
    server.commit(create(1, "a"), create(2, "b"))
    step()
    server.commit(update(1, "c"), delete(2))
    step()
    server.fail_over(OTHER, file=2)
    server.commit(update(1, "d"), create(2, "e"))
    step()
    server.commit(update(2, "f"), create(3, "g"))
    step()


EXPECTED = [(1, "d", 1), (2, "f", 1), (3, "g", 1)]


def test_positions_order_by_epoch_first(spark: SparkSession):
    known = {"0-1": ((1, 5), (7, 7)), "uuid:tag": ((1, 1),)}
    logs = (Epoch({("t", 0): 3}, known), Epoch({("t", 0): 8, ("t", 1): 0}, {}))
    rows = [
        ("t", 0, 2, "0-1-9", "09", 0),
        ("t", 0, 3, "0-1-7", "02", 0),
        ("t", 0, 4, "0-1-6", "02", 1),
        ("t", 0, 5, "0-2-7", "03", 1),
        ("t", 0, 6, None, "04", 1),
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
    placed = events.selectExpr("*", f"{in_epoch('log', logs, 'gtid')} AS position")
    found = placed.selectExpr("epoch", f"{epoch_of('position')} AS found", "position").collect()
    assert [row["found"] for row in found] == [row["epoch"] for row in found]
    texts = [row["position"] for row in found if row["position"]]
    assert sorted(texts) == [
        *("02", "05", "09"),
        *(f"~000001|{log}" for log in ("02", "03", "04", "05", "05")),
        *("~000002|01",) * 2,
    ]


@pytest.mark.parametrize("cuts", ["one batch", "four batches"])
def test_a_failover_to_lower_positions_is_newer(spark, settings, tmp_path, cuts: str):
    runs = open_source(spark, settings, tmp_path, f"failover_{cuts[:4].strip()}")
    server = MySql(runs.source.name)

    def step() -> None:
        if cuts == "four batches":
            assert laws_hold(runs.run(server)["apply"])

    life(server, step)
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
