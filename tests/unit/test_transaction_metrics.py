"""The metrics of the suite `transactions`, put together from states and the profile of a batch."""

from __future__ import annotations

from lakehouse.plan.groups import Group, transaction_metrics
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
