"""Apply and publish on PostgreSQL's change events: what silver holds after each run."""

from __future__ import annotations

import base64
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.records import QUARANTINE
from tests.support.debezium import PLACEHOLDER, Postgres, Table, column
from tests.support.runs import laws_hold, open_runs

MONEY = {
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2", "connect.decimal.precision": "10"},
}


def orders() -> Table:
    return Table(
        "orders",
        [
            column("id", "int32", optional=False),
            column("note", "string"),
            column("amount", "bytes", **MONEY),
            column("big", "string"),
        ],
    )


def lines() -> Table:
    columns = [column("order_id", "int32", optional=False), column("n", "int32", optional=False)]
    return Table("lines", [*columns, column("qty", "int32")], key=("order_id", "n"))


def order(number: int, note: str, big: str = "large") -> dict[str, object]:
    cents = base64.b64encode((500).to_bytes(2, "big")).decode()
    return {"id": number, "note": note, "amount": cents, "big": big}


def line(number: int, quantity: int) -> dict[str, object]:
    return {"order_id": number, "n": 1, "qty": quantity}


@pytest.mark.further
def test_what_an_incremental_snapshot_reads_again_counts_where_its_topic_lags(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    """Its events carry no number of their own, and stand below what another topic has applied."""
    runs, pg = open_runs(spark, settings, tmp_path, "pgreads"), Postgres("pgreads")
    head, items = orders(), lines()
    pg.transact((head, "c", None, order(1, "a")))
    pg.read_increment(head, order(1, "a"))
    first = pg.mark()
    pg.transact((items, "c", None, line(1, 1)))
    pg.read_increment(head, order(1, "b"))
    pg.transact((items, "c", None, line(2, 2)))
    every = pg.messages
    late = [m for m in every[first:] if str(m["topic"]).endswith(".orders")]
    pg.messages = [message for message in every if message not in late]
    runs.run(pg)
    assert runs.rows("orders", "id", "note") == [(1, "a")]

    pg.messages = every
    outcomes = runs.run(pg)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", "id", "note") == [(1, "b")]


def test_silver_follows_the_source_through_every_operation(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    """One history in four runs: the session's cost is paid once."""
    runs, pg = open_runs(spark, settings, tmp_path, "pgops"), Postgres("pgops")
    head, items = orders(), lines()
    pg.snapshot(head, [order(n, f"n{n}", f"big{n}") for n in range(3)])
    pg.snapshot(items, [line(n, n) for n in range(3)])

    first = runs.run(pg)

    assert [outcome.status for outcome in first.values()] == ["succeeded"] * 5
    assert laws_hold(first["apply"])
    assert runs.rows("orders", "id", "note", "amount", "big") == [
        (n, f"n{n}", Decimal("5.00"), f"big{n}") for n in range(3)
    ]

    # A placeholder, then a key change, then a placeholder again; an open transaction waits.
    pg.transact(
        (head, "u", None, order(1, "x", PLACEHOLDER)),
        (head, "u", order(1, "x"), order(11, "y", PLACEHOLDER)),
        (items, "d", line(0, 0), None),
    )
    pg.transact(
        (head, "u", None, order(11, "z", PLACEHOLDER)),
        (head, "c", None, order(20, "new")),
        (head, "u", None, order(20, "newer")),
        (items, "c", None, line(20, 5)),
    )
    pg.transact((head, "c", None, order(30, "open")), end=False)

    second = runs.run(pg)

    assert laws_hold(second["apply"])
    assert runs.rows("orders", "id", "note", "big") == [
        (0, "n0", "big0"),
        (2, "n2", "big2"),
        (11, "z", "big1"),
        (20, "newer", "large"),
    ]
    assert runs.rows("lines", "order_id", "qty") == [(1, 1), (2, 2), (20, 5)]
    assert [(row["kind"], row["key"]) for row in runs.state("orders")] == [("delete", '["1"]')]

    # The transaction ends; columns come with and without a default, one widens, one is emptied.
    pg.finish("public.orders", 1)
    head.columns.append(column("flag", "int32", optional=False, default=7))
    head.columns.append(column("memo", "string"))
    items.columns[2] = column("qty", "int64")
    pg.transact((head, "u", None, {**order(2, "flagged"), "flag": 1, "memo": "m"}))
    pg.transact((items, "t", None, None), (items, "c", None, line(50, 2**40)))

    third = runs.run(pg)

    assert laws_hold(third["apply"])
    assert runs.rows("orders", "id", "note", "flag", "memo") == [
        (0, "n0", 7, None),
        (2, "flagged", 1, "m"),
        (11, "z", 7, None),
        (20, "newer", 7, None),
        (30, "open", 7, None),
    ]
    assert runs.rows("lines", "order_id", "n", "qty") == [(50, 1, 2**40)]
    assert [row["kind"] for row in runs.state("lines")][-1] == "truncate"

    # Nothing new, landed again: nothing changes, and a cut says so.
    tables = third["publish"].detail["cut_id"]
    fourth = runs.run(pg)
    cuts = runs.context().ledger.cuts("pgops")
    assert fourth["land"].message.startswith("nothing new")
    assert [c.tables for c in cuts if c.cut_id == tables][-1] == cuts[-1].tables


def test_redelivered_events_never_bring_back_an_older_row(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    """A restarted connector sends its last transactions again, the first one without a commit."""
    runs, pg = open_runs(spark, settings, tmp_path, "pgredo"), Postgres("pgredo")
    head = orders()
    pg.snapshot(head, [order(1, "one"), order(2, "two")])
    pg.transact((head, "u", None, order(1, "older")), (head, "d", order(2, "two"), None))
    again = pg.mark()
    pg.transact((head, "u", None, order(1, "newest")), (head, "c", None, order(3, "three")))
    runs.run(pg)
    expected = [(1, "newest"), (3, "three")]
    assert runs.rows("orders", "id", "note") == expected

    pg.redeliver(again, first_without_commit=True)
    outcome = runs.run(pg)

    assert laws_hold(outcome["apply"])
    assert runs.rows("orders", "id", "note") == expected
    law = outcome["apply"].counts["pgredo.public.orders[0]"]
    assert isinstance(law, dict)
    assert (law["applied"], law["superseded"]) == (0, 2)


@pytest.mark.parametrize("at_once", [True, pytest.param(False, marks=pytest.mark.further)])
def test_changes_behind_a_blocking_snapshot_are_newer_than_its_read_events(
    spark: SparkSession, settings: Settings, tmp_path: Path, *, at_once: bool
) -> None:
    """Until the next commit they carry the commit before the snapshot, whose own LSN is higher."""
    name = f"pgblocking{int(at_once)}"
    runs, pg = open_runs(spark, settings, tmp_path, name), Postgres(name)
    head = orders()
    pg.snapshot(head, [order(1, "one"), order(2, "two"), order(3, "three")])
    pg.transact((head, "u", None, order(1, "changed")))
    if not at_once:
        runs.run(pg)
    pg.lsn += 1000
    pg.snapshot(head, [order(1, "changed"), order(2, "two"), order(3, "missed")])
    if not at_once:
        runs.run(pg)
    pg.transact((head, "u", None, order(1, "after")), (head, "d", order(2, "two"), None))

    outcome = runs.run(pg)

    assert laws_hold(outcome["apply"])
    assert runs.rows("orders", "id", "note") == [(1, "after"), (3, "missed")]


@pytest.mark.further
@pytest.mark.parametrize("at_once", [False, True])
def test_a_snapshot_that_comes_again_behind_changes_takes_nothing_back(
    spark: SparkSession, settings: Settings, tmp_path: Path, *, at_once: bool
) -> None:
    name = f"pgsnapshots{int(at_once)}"
    runs, pg = open_runs(spark, settings, tmp_path, name), Postgres(name)
    head = orders()
    pg.snapshot(head, [order(1, "one"), order(2, "two"), order(3, "three")])
    read = pg.mark()
    pg.transact((head, "d", order(1, "one"), None), (head, "u", None, order(2, "changed")))
    pg.transact((head, "c", None, order(4, "four")))
    if not at_once:
        runs.run(pg)
    pg.redeliver(0, read, first_without_commit=False)

    outcomes = runs.run(pg)

    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", "id", "note") == [(2, "changed"), (3, "three"), (4, "four")]


def test_unreadable_messages_are_quarantined_and_the_rest_is_published(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs, pg = open_runs(spark, settings, tmp_path, "pgbad"), Postgres("pgbad")
    head = orders()
    pg.snapshot(head, [order(1, "one")])
    topic = "pgbad.public.orders"
    bad = {
        '{"schema":null,"payload":{"op":"c"': "not_json",
        '{"a":1}{"b":2}': "not_json",
        '{"payload":{"after":{"id":9}}}': "no_operation",
        '{"payload":{"op":"x"}}': "unknown_operation",
        '{"payload":{"op":"c","after":{"id":9}}}': "no_source_block",
    }
    for value in bad:
        pg.send_raw(topic, '{"payload":{"id":9}}', value)
    no_number, no_amount = {**order(5, "five"), "id": "x"}, {**order(5, "five"), "amount": "?"}
    pg.transact(
        (head, "c", None, no_number),
        (head, "c", None, no_amount),
        (head, "c", None, order(6, "six")),
    )

    outcome = runs.run(pg)

    assert laws_hold(outcome["apply"])
    assert runs.rows("orders", "id", "note") == [(1, "one"), (6, "six")]
    rows = runs.context().ledger.rows(QUARANTINE, source="pgbad")
    reasons = [row.reason for row in sorted(rows, key=lambda row: row.offset)]
    assert reasons == [*bad.values(), "bad_key", "bad_value"]


@pytest.mark.further
def test_a_message_that_alone_shows_a_tables_schema_may_hold_a_number_beyond_all_bounds(
    spark, settings, tmp_path
):
    runs, connector = open_runs(spark, settings, tmp_path, "beyond"), Postgres("beyond")
    columns = [column("id", "int32", optional=False), column("size", "double")]
    sizes, others = Table("sizes", columns), Table("others", columns)
    connector.snapshot(sizes, [{"id": 1, "size": 123.25}])
    connector.messages[-1]["value"] = str(connector.messages[-1]["value"]).replace(
        "123.25", "1e400"
    )
    connector.snapshot(others, [{"id": 1, "size": 0.5}])
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("others", "id", "size") == [(1, 0.5)]
    [bad] = runs.ledger.quarantine("beyond")
    assert (bad.topic, bad.reason) == ("beyond.public.sizes", "bad_value")
    connector.snapshot(sizes, [{"id": 1, "size": 0.5}])
    runs.run(connector)
    assert runs.rows("sizes", "id", "size") == [(1, 0.5)]


@pytest.mark.further
def test_a_snapshot_after_a_lost_slot_is_newer_than_a_restarts_first_transaction(
    spark, settings, tmp_path
):
    """Such a transaction has no commit position, and what stands in for it is as high as can be."""
    runs, connector = open_runs(spark, settings, tmp_path, "gap"), Postgres("gap")
    columns = [column("id", "int32", optional=False), column("name", "string")]
    known, at_once = Table("known", columns), Table("at_once", columns)
    connector.transact((known, "c", None, {"id": 1, "name": "a"}))
    runs.run(connector)
    connector.last_commit = None
    connector.transact((at_once, "c", None, {"id": 1, "name": "a"}))
    connector.lsn += 1000
    for table in (known, at_once):
        connector.snapshot(table, [{"id": 1, "name": "changed unseen"}])
    connector.transact((known, "c", None, {"id": 2, "name": "b"}))
    runs.run(connector)
    assert runs.rows("known", "id", "name") == [(1, "changed unseen"), (2, "b")]
    assert runs.rows("at_once", "id", "name") == [(1, "changed unseen")]
