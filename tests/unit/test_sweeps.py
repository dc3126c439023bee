"""What a repeated source snapshot tells of rows that it did not read, and what it may remove."""

from __future__ import annotations

import pytest

from lakehouse.config import SnapshotConfig
from lakehouse.plan.batches.sweeps import Marker, newest_generation, sweep_rule
from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress

COMPLETE = SnapshotConfig(complete=True)
LANDED = LandedOffsets(
    {"one": TopicProgress("id", {0: 9}), "two": TopicProgress("id", {0: 9, 1: 4})}
)


@pytest.mark.parametrize(
    ("config", "topic", "unreadable", "why"),
    [
        (SnapshotConfig(), "one", (), "snapshot.complete"),
        (COMPLETE, "one", ("one",), "in quarantine"),
        (COMPLETE, "one", ("two",), ""),
    ],
)
def test_a_sweep_is_refused_where_rows_may_have_been_read_unseen(config, topic, unreadable, why):
    rule = sweep_rule(config, {topic}, LANDED, unreadable, is_bag=False)
    assert why in rule.refused
    assert bool(rule.refused) is bool(why)
    assert (rule.blind, rule.share) == ("", 0.0 if why else 0.1)


@pytest.mark.parametrize(("topic", "is_bag"), [("two", False), ("one", True)])
def test_nothing_is_told_without_a_key_or_an_order(topic, is_bag):
    assert sweep_rule(COMPLETE, {topic}, LANDED, (), is_bag=is_bag).blind


@pytest.mark.parametrize(
    ("markers", "expected"),
    [
        ("", None),
        ("first", None),
        ("first last", (0, 1)),
        ("first first last", (1, 2)),
        ("first last first", (0, 1)),
        ("first last first last", (2, 3)),
        ("last", (None, 0)),
        ("first last last", (None, 2)),
    ],
)
def test_the_newest_snapshot_that_ends_counts(markers, expected):
    found = newest_generation(
        Marker(offset, f"{name}_in_data_collection", "", "one", 0, None)
        for offset, name in enumerate(markers.split())
    )
    starts = found and found.start and found.start.offset
    assert (found and (starts, found.end.offset)) == expected
