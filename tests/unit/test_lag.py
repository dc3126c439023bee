"""How far published tables are behind Kafka: what waits counts, not how old the newest row is."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from lakehouse.config import Settings, parse_source
from lakehouse.connectors import CONNECTORS
from lakehouse.plan.cuts.lag import SourceLag, Stamp, TableLag, Tails, seconds_behind, source_lag
from lakehouse.plan.cuts.lag_words import lag_sentence
from lakehouse.plan.event_position import event_position, shown_position
from lakehouse.plan.records import CutRow
from lakehouse.plan.topics.offsets import PartitionBounds, TopicBounds
from lakehouse.spark.landing.lag import measure_lag

SOURCE = parse_source('connector = "postgresql"\ntopic_prefix = "shop"\n', "shop")
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
ORDERS, ITEMS = "shop.public.orders", "shop.public.items"
HEARTBEAT = "__debezium-heartbeat.shop"
TOP = "00000000000000000007.00000000000000000009"
NEWEST = "00000000000000000011.00000000000000000012"


def ago(**time: int) -> datetime:
    return NOW - timedelta(**time)


def cut(ends: dict[str, list[int]], excluded: dict[str, dict[str, str]] | None = None) -> CutRow:
    offsets = {
        topic: {"id": "a", "partitions": {str(n): end for n, end in enumerate(parts)}}
        for topic, parts in ends.items()
    }
    top = {"top": {"0": [TOP, None]}}
    return CutRow(
        source="shop",
        cut_id="00000007",
        state="published",
        run_id="r",
        recorded_at=ago(minutes=2),
        token=1,
        offsets=json.dumps({topic: {**entry, **top} for topic, entry in offsets.items()}),
        position=TOP,
        transactions=0,
        tables={},
        excluded=json.dumps(excluded or {}),
        held_keys=0,
        identities=json.dumps(
            {
                "silver_shop.public__orders": [None, "public", "orders"],
                "silver_shop.public__items": [None, "public", "items"],
                "silver_shop.public__items__retired_1": [None, "public", "items"],
            }
        ),
        renames="{}",
        moves="[]",
    )


def topic(name: str, *ends: int, topic_id: str = "a") -> TopicBounds:
    parts = tuple(PartitionBounds(n, 0, end) for n, end in enumerate(ends))
    return TopicBounds(name, topic_id, parts)


def lag_of(row: CutRow | None, *bounds: TopicBounds, **tails: dict[tuple[str, int], Stamp]):
    return source_lag(SOURCE, row, Tails(NOW, bounds, **tails))


def table(lag: SourceLag, name: str) -> TableLag:
    return {each.table: each for each in lag.tables}[name]


def test_what_is_published_to_the_end_has_no_lag_however_old_it_is():
    last = {(ORDERS, 0): Stamp(9, ago(days=3), TOP), (HEARTBEAT, 0): Stamp(99, ago(seconds=4))}
    lag = lag_of(cut({ORDERS: [10]}), topic(ORDERS, 10), topic(HEARTBEAT, 100), last=last)
    orders = table(lag, "public.orders")
    assert (lag.messages, lag.waits_since) == (0, None)
    assert seconds_behind(orders.waits_since, orders.messages, NOW) == 0.0
    assert (orders.published, orders.position) == (TOP, TOP)
    assert lag_sentence(lag) == "nothing waits; newest 3 days ago, heartbeat 4 seconds ago"


def test_without_heartbeats_an_idle_source_is_not_called_alive():
    lag = lag_of(cut({ORDERS: [10]}), topic(ORDERS, 10), last={(ORDERS, 0): Stamp(9, ago(days=3))})
    assert lag_sentence(lag) == "nothing waits; newest 3 days ago, no heartbeat"


def test_a_table_is_behind_by_messages_time_and_position_over_its_topic_partitions():
    lag = lag_of(
        cut({ORDERS: [10, 5], ITEMS: [3]}),
        topic(ORDERS, 1_010, 5),
        topic(ITEMS, 3),
        first={(ORDERS, 0): Stamp(10, ago(minutes=3))},
        last={(ORDERS, 0): Stamp(1_009, ago(seconds=1), NEWEST), (ITEMS, 0): Stamp(2, ago(days=1))},
    )
    orders, items = table(lag, "public.orders"), table(lag, "public.items")
    assert (orders.messages, orders.waits_since) == (1_000, ago(minutes=3))
    assert (orders.published, orders.position) == (TOP, NEWEST)
    assert (items.messages, items.waits_since) == (0, None)
    assert [each.table for each in lag.tables] == ["public.orders", "public.items"]
    assert lag_sentence(lag) == "1,000 messages waiting, the oldest for 3 minutes"


def test_a_held_table_waits_from_where_it_stopped_and_says_why():
    offsets = json.dumps({ORDERS: {"id": "a", "partitions": {"0": 4}}})
    left = {"silver_shop.public__orders": {"cut": "1", "reason": "held", "offsets": offsets}}
    lag = lag_of(
        cut({ORDERS: [10], ITEMS: [3]}, left),
        topic(ORDERS, 10),
        topic(ITEMS, 3),
        first={(ORDERS, 0): Stamp(4, ago(hours=2))},
    )
    orders = table(lag, "public.orders")
    assert (orders.messages, orders.waits_since, orders.held) == (6, ago(hours=2), "held")
    assert lag.messages == 6


def test_a_topic_that_no_published_table_reads_waits_under_its_own_name():
    bounds = (topic(ORDERS, 10), topic("shop.public.new", 7), topic("shop.transaction", 50))
    lag = lag_of(cut({ORDERS: [10]}), *bounds)
    assert table(lag, "shop.public.new") == TableLag("shop.public.new", "", 7)
    assert lag.messages == 7


def test_before_the_first_cut_everything_waits_and_a_topic_made_again_waits_whole():
    assert lag_of(None, topic(ORDERS, 10), topic(ITEMS, 2)).messages == 12
    assert lag_of(cut({ORDERS: [10]}), topic(ORDERS, 4, topic_id="b")).messages == 4


def test_a_row_of_a_run_tells_the_lag_again():
    stamps = {(ORDERS, 0): Stamp(9, ago(days=3), TOP), (HEARTBEAT, 0): Stamp(99, ago(seconds=4))}
    lag = lag_of(cut({ORDERS: [8]}), topic(ORDERS, 10), first=stamps, last=stamps)
    assert SourceLag.from_json(lag.to_json()) == lag


def test_how_long_is_not_known_where_no_message_tells_it():
    lag = lag_of(cut({ORDERS: [8]}), topic(ORDERS, 10))
    assert seconds_behind(lag.waits_since, lag.messages, NOW) is None
    assert lag_sentence(lag) == "2 messages waiting"


def test_without_kafka_and_catalog_the_reason_is_told_and_nothing_is_made(tmp_path, monkeypatch):
    monkeypatch.delenv("LAKEHOUSE_KAFKA", raising=False)
    lag = measure_lag(SOURCE, Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}), None)
    assert "no Kafka address" in lag.unseen
    assert (lag.cut, lag.tables, list(tmp_path.iterdir())) == ("", (), [])


def test_a_kafka_that_gives_no_answer_is_asked_once(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_KAFKA", '{"bootstrap.servers": "127.0.0.1:1"}')
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    silent = {"127.0.0.1:1": "no answer"}
    assert measure_lag(SOURCE, settings, None, silent).unseen == "no answer"


@pytest.mark.parametrize(
    ("connector", "block", "expected"),
    [
        ("postgresql", {"sequence": '["7","9"]'}, "7.9"),
        ("postgresql", {"sequence": '[null,"9"]'}, ""),
        ("mysql", {"file": "binlog.000012", "pos": 345, "row": 0}, "12.345.0"),
        ("mariadb", {"file": "binlog.000012", "pos": "x", "row": 0}, ""),
        ("ticdc", {}, ""),
    ],
)
def test_the_position_of_a_message_is_shown_as_its_source_counts(connector, block, expected):
    for value in ({"source": block}, {"schema": {}, "payload": {"source": block}}):
        found = event_position(json.dumps(value).encode(), CONNECTORS[connector])
        assert shown_position(found) == expected


@pytest.mark.parametrize("value", [None, b"", b"\xff", b"[]", b"{}", b'{"payload": null}'])
def test_what_is_no_event_has_no_position(value):
    assert event_position(value, CONNECTORS["mysql"]) == ""


def test_an_older_log_is_not_shown_with_a_position():
    assert shown_position(f"~0000000001|{TOP}") == "7.9"
