"""The metrics of topics, put together from transactions and the profile of a batch."""

from __future__ import annotations

from lakehouse.plan.batches.groups import Group, topic_metrics, transaction_metrics
from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress
from tests.support.groups import group_of


def marks(partition: int, count: int, role: str = "transaction") -> Group:
    return group_of(
        topic="shop.transaction",
        partition=partition,
        role=role,
        control=True,
        fingerprint=None,
        count=count,
        rows=0,
    )


def test_messages_that_are_no_marks_and_those_of_other_partitions_are_counted() -> None:
    groups = [marks(0, 7), marks(1, 2), marks(0, 50, "data")]

    assert transaction_metrics({"marks": 6, "lost_ends": 1}, groups) == {
        "lost_ends": 1,
        "messages_in_other_partitions": 2,
        "unreadable_marks": 3,
    }


def test_a_batch_without_marks_or_where_nobody_looked_has_no_metrics() -> None:
    assert transaction_metrics({"marks": 0}, [marks(0, 50, "data")]) == {}
    assert transaction_metrics({}, [marks(0, 7)]) == {}


def deleting(topic: str, deletes: int, tombstones: int, last: int, partition: int = 0) -> Group:
    return group_of(
        topic=topic,
        partition=partition,
        deletes=deletes,
        tombstones=tombstones,
        last_delete=last,
        large=deletes,
    )


def lacking(*groups: Group, end: int = 100) -> dict[str, int | None]:
    topics = {group.topic for group in groups}
    landed = LandedOffsets({topic: TopicProgress("id", {0: end, 1: end}) for topic in topics})
    return {
        place: counts.get("deletes_without_tombstone")
        for place, counts in topic_metrics(groups, landed).items()
    }


def test_deletes_without_a_tombstone_are_counted_where_a_topic_has_tombstones() -> None:
    parts = [deleting("t", 3, 0, 50), deleting("t", 0, 2, 60), deleting("t", 2, 0, 70, partition=1)]

    assert lacking(*parts) == {"t/0": 1, "t/1": 2}


def test_a_topic_without_any_tombstone_lacks_none() -> None:
    assert lacking(deleting("never", 5, 0, 50), deleting("t", 1, 1, 50)) == {
        "never/0": None,
        "t/0": 0,
    }


def test_the_tombstone_of_the_last_message_may_come_with_the_next_landing() -> None:
    assert lacking(deleting("t", 3, 2, 99)) == {"t/0": 0}
    assert lacking(deleting("t", 3, 2, 98)) == {"t/0": 1}
    # The first tombstone of a batch may be that of a delete event before it.
    assert lacking(deleting("t", 2, 3, 98)) == {"t/0": 0}


def test_large_messages_are_counted_by_topic_partition() -> None:
    counts = topic_metrics([deleting("t", 2, 0, 5), deleting("t", 1, 0, 9)], LandedOffsets())

    assert counts == {"t/0": {"large_messages": 3}}
