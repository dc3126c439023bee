"""Snapshots on demand: real connectors take the signals, and their rows come out in silver.

The tables' names hold dots, blanks and quotes, and the condition's text whatever ends SQL.
"""

from __future__ import annotations

import json
import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from infra.clients import run_sql
from infra.demo.compare import compare_source
from infra.sources import SAMPLE_SOURCES
from lakehouse.config import Settings, kafka_properties
from lakehouse.errors import NotYet, SnapshotFailed
from lakehouse.names import parse_table
from lakehouse.plan.signals.conditions import Condition, parse_condition
from lakehouse.plan.signals.connector import Channel
from lakehouse.plan.signals.handover import Handover
from lakehouse.plan.signals.request import Action, Request, SnapshotType
from lakehouse.signalling.following import Follower
from lakehouse.signalling.requests import send
from lakehouse.spark.control.ledger import Ledger
from tests.soak.product import Product
from tests.stack.changing import (
    BLOCKED,
    HOSTILE,
    LAST,
    ROWS,
    TABLE,
    TABLES,
    Changing,
    fill,
    identity,
    quoted,
    topic,
)
from tests.stack.conftest import Stack
from tests.support.narrowed import narrowed
from tests.support.sampling import EVERY_CASE

SOURCES = tuple(SAMPLE_SOURCES)
PATIENCE_S = 90


def where(stack: Stack, name: str) -> tuple[Condition, ...]:
    text = HOSTILE.replace("'", "''")
    texts = (f"id <= {LAST}", f"state in ('{text}', 'nothing')")
    return tuple(parse_condition(each, stack.source(name).connector) for each in texts)


def is_asked_for(row: dict) -> bool:
    return row["id"] <= LAST and row["state"] == HOSTILE


def ask(stack: Stack, name: str, request: Request, channel: Channel) -> Handover:
    return send(request, stack.source(name), stack.settings, channel, str(uuid.uuid4())).handover


def follower(stack: Stack, sent: Handover, name: str, patience_s: float = PATIENCE_S) -> Follower:
    source = stack.source(name)
    properties = kafka_properties(source, stack.settings)
    return Follower(sent, source, properties, Ledger(stack.settings), patience_s, print)


@pytest.fixture(scope="module", params=SOURCES)
def changing(request: pytest.FixtureRequest, stack: Stack) -> Changing:
    barrier = stack.barrier(request.param)
    fill(stack.database(request.param), quoted(stack, request.param), ROWS)
    fill(stack.database(request.param), quoted(stack, request.param, BLOCKED), 2 * LAST)
    barrier.pass_one()
    return Changing(stack, request.param, barrier)


@pytest.fixture
def name(changing: Changing) -> str:
    return changing.name


# Each type and each channel; `make soak` has all pairs.
PAIRS = [(type_, channel) for type_ in SnapshotType for channel in Channel]
TRIED = PAIRS if EVERY_CASE else [PAIRS[0], PAIRS[-1]]


@pytest.mark.parametrize(("type_", "channel"), TRIED)
def test_the_rows_of_a_condition_are_read_again_and_no_others(
    stack: Stack, changing: Changing, name: str, type_: SnapshotType, channel: Channel
):
    table = TABLES[type_]
    before, tables = changing.end(table), (identity(name, table),)
    request = Request(Action.SNAPSHOT, tables, type_, where(stack, name), person="ann")
    with changing.writer(table):
        sent = ask(stack, name, request, channel)
        ended = follower(stack, sent, name).await_end()
    found = changing.since(table, before)
    read = {each.after["id"]: each for each in found if each.op == "r"}
    assert read
    assert [each.after for each in read.values() if not is_asked_for(each.after)] == []
    # A row that changed while its chunk was read has its change alone.
    changed = {
        (each.after or each.value["before"])["id"] for each in found if each.op in list("ud")
    }
    assert changing.wanted(table) - changed <= read.keys()
    markers = {each.value["source"]["snapshot"] for each in read.values()}
    assert (markers == {"incremental"}) is (type_ is SnapshotType.INCREMENTAL)
    assert ended.rows >= len(read)


def paused_snapshot(stack: Stack, name: str) -> Handover:
    """A snapshot that a person has let pause; on a busy machine one may end before that."""
    for _ in range(3):
        tables = (identity(name),)
        snapshot = ask(stack, name, Request(Action.SNAPSHOT, tables), Channel.TABLE)
        paused = ask(stack, name, Request(Action.PAUSE), Channel.TABLE)
        with suppress(NotYet):
            follower(stack, paused, name, patience_s=40).run()
            return snapshot
    return pytest.fail("each of three snapshots ended before it could pause")


def test_a_snapshot_pauses_goes_on_and_stops_half_way(stack: Stack, name: str):
    tables = (identity(name),)
    snapshot = paused_snapshot(stack, name)
    with pytest.raises(NotYet, match="goes on"):
        follower(stack, snapshot, name, patience_s=0).await_end()
    # A paused snapshot stops when it goes on.
    stopped = ask(stack, name, Request(Action.STOP, tables), Channel.KAFKA)
    resumed = ask(stack, name, Request(Action.RESUME), Channel.KAFKA)
    follower(stack, resumed, name).run()
    follower(stack, stopped, name).run()
    with pytest.raises(SnapshotFailed, match="stopped before it was read"):
        follower(stack, snapshot, name).await_end()


def test_failures_that_the_connector_reports_as_completed_are_told(
    stack: Stack, changing: Changing, name: str
):
    keyless = identity(name, "signal_keyless")
    table = quoted(stack, name, "signal_keyless")
    database = stack.database(name)
    run_sql(database, f"CREATE TABLE {table} (a int)", f"INSERT INTO {table} VALUES (1)")
    changing.barrier.pass_one()
    wrong = parse_condition("nowhere = 1", stack.source(name).connector)
    none = parse_condition("id > 999999", stack.source(name).connector)
    try:
        for tables, conditions, words in (
            ((keyless,), (), "it has no key"),
            ((identity(name),), (wrong,), "its database refused the query"),
            ((identity(name, "signal_nowhere"),), (), "finds no such table"),
        ):
            request = Request(Action.SNAPSHOT, tables, conditions=conditions)
            sent = ask(stack, name, request, Channel.TABLE)
            with pytest.raises(SnapshotFailed, match=words):
                follower(stack, sent, name).await_end()
        request = Request(Action.SNAPSHOT, (identity(name),), conditions=(none,))
        ended = follower(stack, ask(stack, name, request, Channel.KAFKA), name).await_end()
        assert "no row fits the condition" in ended.sentences()[0]
    finally:
        run_sql(database, f"DROP TABLE {table}")


def test_a_signal_is_sent_once_for_an_id(stack: Stack, name: str):
    source, request = stack.source(name), Request(Action.PAUSE)
    for channel in Channel:
        number = str(uuid.uuid4())
        first, again = (send(request, source, stack.settings, channel, number) for _ in range(2))
        assert "sent to" in first.told
        assert "is already in" in again.told


@pytest.mark.further
@pytest.mark.parametrize("changing", SOURCES, indirect=True)
def test_a_snapshot_is_followed_until_its_rows_are_published(
    spark, settings: Settings, changing: Changing, name: str, monkeypatch: pytest.MonkeyPatch
):
    stack, properties = changing.stack, {"bootstrap.servers": changing.stack.state.kafka}
    monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps(properties))
    data = topic(stack, name)
    source = narrowed(
        stack.source(name), f"{name}_signal", re.escape(data.removeprefix(f"{name}."))
    )
    product = Product(spark, settings, source)
    product.run()
    request = Request(Action.SNAPSHOT, (identity(name),), conditions=where(stack, name))
    told: list[str] = []
    with changing.writer():
        sent = ask(stack, name, request, Channel.TABLE)
        assert parse_table(sent.tables[0], source.connector) == identity(name)
        read = follower(stack, sent, name).await_end()
        with pytest.raises(NotYet, match="not published yet"):
            Follower(sent, source, properties, product.ledger, 0, told.append).run()
        following = Follower(sent, source, properties, product.ledger, 300, told.append)
        with ThreadPoolExecutor(1) as pool:
            published = pool.submit(following.run)
            while not published.done():
                product.run()
    assert read.rows > 0
    # What had ended before it was followed is told, too.
    assert told[0].endswith(f", {read.rows} rows")
    assert told[-1] == f"published: cut {published.result()}"
    changing.barrier.pass_one()
    cut = product.run()
    assert published.result() <= cut.cut_id
    found = compare_source(source, stack.database(name), product.ledger.catalog, cut, only=(TABLE,))
    assert [(row.silver_rows, row.examples) for row in found] == [(ROWS, ())]
