"""Which read events what is streamed may place: most of a first load are before all changes."""

from __future__ import annotations

import pytest

from lakehouse.plan.batches.groups import Group, reads_behind_changes
from tests.support.groups import group_of

PLACE = ("t", 0)


def _reads(first: int, last: int) -> Group:
    return group_of(first_offset=first, last_unplaced=last)


def _changes(first: int, **more: object) -> Group:
    return group_of(first_offset=first, first_placed=first, **more)


@pytest.mark.parametrize(
    ("groups", "streamed", "found"),
    [
        pytest.param([_reads(0, 9)], (), set(), id="reads alone"),
        pytest.param([_changes(0)], (), set(), id="changes alone"),
        pytest.param([_reads(0, 9), _changes(10)], (), set(), id="changes behind all reads"),
        pytest.param([_reads(0, 9), _changes(5)], (), {PLACE}, id="a change between reads"),
        pytest.param([_changes(0), _reads(1, 9)], (), {PLACE}, id="reads behind changes"),
        pytest.param([_reads(10, 19)], {PLACE}, {PLACE}, id="changes before the batch"),
        pytest.param([_reads(10, 19)], {("t", 1)}, set(), id="changes in another partition"),
        pytest.param(
            [_reads(0, 9), _changes(3, partition=1)], (), set(), id="partitions have each their own"
        ),
        pytest.param(
            [_reads(0, 4), _changes(7), _reads(8, 9)], (), {PLACE}, id="groups of two schemas"
        ),
        pytest.param([group_of(last_unplaced=9, first_placed=4)], (), {PLACE}, id="in one group"),
    ],
)
def test_reads_are_placed_where_something_was_streamed_before(groups, streamed, found):
    assert reads_behind_changes(groups, streamed) == found
