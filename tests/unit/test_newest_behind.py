"""What stands behind a transaction whose events have not all landed."""

from __future__ import annotations

from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress
from lakehouse.spark.transactions.doubts import newest_behind

LANDED = LandedOffsets({"s.public.orders": TopicProgress("id", {0: 5, 1: 7})})
TOPICS = {"public.orders": "s.public.orders"}


def test_a_quiet_topic_partition_may_still_bring_what_is_missing():
    found = newest_behind({("s.public.orders", 0): 9}, LANDED, TOPICS)
    assert found == {"public.orders": (-1, 9)}


def test_the_slowest_topic_partition_tells_what_can_never_come():
    newest = {("s.public.orders", 0): 9, ("s.public.orders", 1): 4, ("s.public.items", 0): 1}
    assert newest_behind(newest, LANDED, TOPICS) == {"public.orders": (4, 9)}


def test_of_a_topic_that_never_landed_nothing_is_known():
    assert newest_behind({}, LandedOffsets(), TOPICS) == {"public.orders": (-1, -1)}
