"""Epochs and the newest events, as the newest cut hands them on."""

from __future__ import annotations

import pytest

from lakehouse.plan.epochs import (
    Epoch,
    Fall,
    High,
    Top,
    epochs_from_json,
    epochs_to_json,
    starts_by_falls,
    unrecorded,
)
from lakehouse.plan.progress import Progress, lowest
from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress

SERVER = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
EPOCHS = (
    Epoch({("s.a", 0): 7, ("s.a", 1): 9, ("s.b", 0): 0}, {SERVER: ((1, 5), (7, 7))}),
    Epoch({("s.a", 0): 20}, {SERVER: ((1, 9),), "0-12": ((3, 4),)}, ("0000000009.1",)),
    Epoch(confirmed_ms=1_700_000_000_123),
)
LANDED = LandedOffsets({"s.a": TopicProgress("id", {0: 25, 1: 9})})


def test_epochs_survive_the_cut():
    assert epochs_from_json(epochs_to_json(EPOCHS)) == EPOCHS


def test_a_source_with_one_log_writes_nothing():
    assert epochs_to_json(()) == ""
    assert epochs_from_json("") == ()


def test_equal_epochs_are_equal_text():
    first = EPOCHS[0]
    turned = Epoch(dict(reversed(first.starts.items())), first.known)
    assert epochs_to_json([turned]) == epochs_to_json([first])


def test_the_newest_event_of_each_topic_partition_survives_the_cut():
    tops = {("s.a", 0): Top("0000000009.1", f"{SERVER}:9"), ("s.a", 1): Top("~000001|01.2")}
    highs = {("s.a", 0): High("", 7), ("s.a", 1): High("~000001|", 12)}
    progress = Progress(LANDED, highs, tops)
    assert Progress.from_json(progress.to_json()) == progress


def test_what_is_read_again_with_a_table_that_stays_behind_does_not_count_as_seen():
    other, older = ("s.b", 0), Top("0000000004.1")
    tops = {("s.a", 0): Top("0000000009.1"), ("s.a", 1): Top("0000000008.1"), other: older}
    highs = {("s.a", 0): High("", 9), ("s.a", 1): High("", 8), other: High("", 4)}
    progress = Progress(LANDED, highs, tops)
    behind = Progress(
        LandedOffsets({"s.a": TopicProgress("id", {0: 3, 1: 2})}),
        {("s.a", 1): High("", 5)},
        {("s.a", 1): Top("0000000005.1")},
    )

    found = lowest(progress, [behind])

    assert found.offsets.next_offset("s.a", 0) == 3
    assert found.tops == {("s.a", 1): Top("0000000005.1"), other: older}
    assert found.highs == {("s.a", 1): High("", 5), other: High("", 4)}
    assert lowest(progress, [Progress(LANDED)]) == progress


def test_a_log_is_confirmed_once():
    assert unrecorded((), [5, 7]) == (Epoch(confirmed_ms=5), Epoch(confirmed_ms=7))
    assert unrecorded((*EPOCHS, Epoch(confirmed_ms=5)), [5, 7]) == (Epoch(confirmed_ms=7),)
    assert unrecorded(EPOCHS, []) == ()


@pytest.mark.parametrize(
    ("falls", "first", "starts"),
    [
        ([], 1, {}),
        ([Fall(5, 2)], 1, {2: 5}),
        ([Fall(5, 1)], 1, {1: 5, 2: 5}),
        ([Fall(5, 1), Fall(8, 2)], 1, {1: 5, 2: 8}),
        # The last transactions of a log, which no other topic partition has, look like the newest.
        ([Fall(5, 2), Fall(8, 2)], 1, {1: 5, 2: 8}),
        ([Fall(5, 2), Fall(8, 2)], 2, {}),
        ([Fall(5, 2), Fall(8, 2), Fall(9, 2)], 1, {}),
    ],
)
def test_falls_of_a_late_topic_partition_tell_where_logs_begin(
    falls: list[Fall], first: int, starts: dict[int, int]
):
    assert starts_by_falls(falls, first, newest=2) == starts
