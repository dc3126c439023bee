"""Whether the rows of a snapshot are in the newest published cut."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from lakehouse.config import parse_source
from lakehouse.names import TableIdentity
from lakehouse.plan.cuts.snapshots import publication, topics_of
from lakehouse.plan.records import CutRow
from lakehouse.plan.topics.offsets import PartitionBounds, TopicBounds

SOURCE = parse_source('connector = "postgresql"\ntopic_prefix = "shop"\n', "shop")
ORDERS = TableIdentity(None, "public", "orders")
TOPIC = "shop.public.orders"
SILVER = "silver_shop.public__orders"


def bounds(*stops: int, topic_id: str = "a") -> tuple[TopicBounds, ...]:
    parts = tuple(PartitionBounds(n, 0, 1_000, stop) for n, stop in enumerate(stops))
    return (TopicBounds(TOPIC, topic_id, parts),)


def offsets(*applied: int) -> str:
    parts = {str(number): offset for number, offset in enumerate(applied)}
    return json.dumps({TOPIC: {"id": "a", "partitions": parts}})


def cut(applied: str, excluded: str = "{}") -> CutRow:
    return CutRow(
        source="shop",
        cut_id="00000007",
        state="published",
        run_id="r",
        recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
        token=1,
        offsets=applied,
        position="",
        transactions=0,
        tables={},
        excluded=excluded,
        held_keys=0,
        identities=json.dumps({SILVER: [None, "public", "orders"]}),
        renames="{}",
        moves="[]",
    )


def test_it_is_published_once_the_cut_reaches_the_end_in_every_topic_partition():
    found = publication(bounds(10, 20), [ORDERS], cut(offsets(10, 21)), SOURCE)
    assert (found.cut, found.behind, found.is_whole) == ("00000007", 0, True)


def test_it_is_not_published_while_one_topic_partition_is_behind():
    found = publication(bounds(10, 20), [ORDERS], cut(offsets(10, 17)), SOURCE)
    assert (found.behind, found.is_whole) == (3, False)
    new_part = publication(bounds(10, 20), [ORDERS], cut(offsets(10)), SOURCE)
    assert new_part.behind == 20


def test_before_the_first_cut_nothing_is_published():
    found = publication(bounds(0), [ORDERS], None, SOURCE)
    assert (found.cut, found.is_whole) == ("", False)


def test_offsets_of_a_topic_that_was_created_again_are_others():
    found = publication(bounds(10, topic_id="b"), [ORDERS], cut(offsets(10)), SOURCE)
    assert found.behind == 10


def test_a_held_table_is_behind_and_says_why():
    held = {SILVER: {"cut": "00000003", "reason": "key changed", "offsets": offsets(4)}}
    found = publication(bounds(10), [ORDERS], cut(offsets(10), json.dumps(held)), SOURCE)
    assert (found.behind, found.held) == (6, (f"{SILVER}: key changed",))
    other = TableIdentity(None, "public", "lines")
    assert publication(bounds(10), [other], cut(offsets(10), json.dumps(held)), SOURCE).is_whole


def test_the_topics_of_a_table_are_its_own_and_those_that_the_file_maps_to_it():
    mapped = parse_source(
        'connector = "postgresql"\ntopic_prefix = "shop"\n'
        '[kafka.topic_tables]\nall_orders = ["public.orders_.*"]\n',
        "shop",
    )
    existing = ("all_orders", TOPIC, "shop.public.orders_2026", "shop.public.lines")
    assert topics_of([ORDERS], existing, mapped) == (TOPIC,)
    part = TableIdentity(None, "public", "orders_2026")
    assert topics_of([part], existing, mapped) == ("all_orders", "shop.public.orders_2026")
