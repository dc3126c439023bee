"""Landing plans: from landed offsets and the bounds of topics to offset ranges, or a refusal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.config import parse_source
from lakehouse.errors import LandingRefused
from lakehouse.plan.topics.landing import gone_topics, landing_topics, plan_landing, reading_turns
from lakehouse.plan.topics.offset_faults import Fault
from lakehouse.plan.topics.offsets import (
    LandedOffsets,
    OffsetRange,
    PartitionBounds,
    TopicBounds,
    TopicProgress,
    batch_id,
    landing_tasks,
    messages_per_task,
    parted,
)


def landed(*next_offsets: int, topic_id: str = "id", topic: str = "t") -> LandedOffsets:
    return LandedOffsets({topic: TopicProgress(topic_id, dict(enumerate(next_offsets)))})


def bounds(
    *partitions: tuple[int, int] | tuple[int, int, int], topic_id: str = "id"
) -> list[TopicBounds]:
    numbered = tuple(PartitionBounds(number, *given) for number, given in enumerate(partitions))
    return [TopicBounds("t", topic_id, numbered)]


# Landed offsets, bounds (begin, end[, limit]) by partition, and the ranges to land.
PLANS = {
    "the first landing starts at the first offset": (LandedOffsets(), [(3, 9)], [(0, 3, 9)]),
    "the next one goes on": (landed(5), [(0, 9)], [(0, 5, 9)]),
    "an offset that expired after it was landed is no loss": (landed(5), [(5, 9)], [(0, 5, 9)]),
    "nothing new": (landed(9), [(0, 9)], []),
    "nothing at all": (LandedOffsets(), [(7, 7)], []),
    "partitions go on by themselves": (
        landed(5, 9),
        [(0, 6), (0, 12)],
        [(0, 5, 6), (1, 9, 12)],
    ),
    "the interval ends before the end": (landed(2), [(0, 9, 6)], [(0, 2, 6)]),
    "the interval ends before what is landed": (landed(7), [(0, 9, 4)], []),
    "the interval ends before the first offset": (LandedOffsets(), [(5, 9, 2)], []),
    "the interval ends after the end": (landed(2), [(0, 9, None)], [(0, 2, 9)]),
}


@pytest.mark.parametrize("case", PLANS)
def test_the_ranges_to_land(case):
    before, partitions, expected = PLANS[case]
    plan = plan_landing(before, bounds(*partitions))
    assert [(each.partition, each.start, each.end) for each in plan.ranges] == expected


def test_landed_offsets_never_go_back_when_the_interval_ends_early():
    plan = plan_landing(landed(7), bounds((0, 9, 4)))
    assert plan.landed == landed(7)


def test_a_topic_without_messages_is_remembered_with_its_partitions():
    plan = plan_landing(LandedOffsets(), bounds((4, 4), (0, 0)))
    assert plan.landed == landed(4, 0)


REFUSED = {
    Fault.EXPIRED: (
        landed(5),
        bounds((8, 20)),
        (
            "Topic 't' partition 0: begins at offset 8: expected 5 or lower, the next one to land. "
            "Offsets [5, 8) expired before they were landed."
        ),
    ),
    Fault.TRUNCATED: (
        landed(25),
        bounds((0, 20)),
        (
            "Topic 't' partition 0: ends at offset 20: expected 25 or higher, because lower ones "
            "are landed."
        ),
    ),
    Fault.RECREATED: (
        landed(5, topic_id="old"),
        bounds((0, 20), topic_id="new"),
        "Topic 't': id 'new' with 1 partitions: expected id 'old' with 1, as landed so far.",
    ),
    Fault.MORE_PARTITIONS: (
        landed(5),
        bounds((0, 20), (0, 3)),
        "Topic 't': 2 partitions: expected 1, as landed so far;",
    ),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_fault_is_refused_with_what_was_found_and_expected(fault):
    before, found, message = REFUSED[fault]
    with pytest.raises(LandingRefused) as raised:
        plan_landing(before, found)
    assert str(raised.value).startswith(message)
    assert "--accept-loss t" in str(raised.value)


@pytest.mark.parametrize(
    ("fault", "ranges", "after"),
    [
        (Fault.EXPIRED, [(0, 8, 20)], landed(20)),
        (Fault.TRUNCATED, [], landed(20)),
        (Fault.RECREATED, [(0, 0, 20)], landed(20, topic_id="new")),
        (Fault.MORE_PARTITIONS, [(0, 5, 20), (1, 0, 3)], landed(20, 3)),
    ],
)
def test_an_accepted_fault_goes_on_with_what_is_there(fault, ranges, after):
    before, found, _ = REFUSED[fault]
    plan = plan_landing(before, found, accept_loss=["t"])
    assert [(each.partition, each.start, each.end) for each in plan.ranges] == ranges
    assert plan.landed == after
    assert [loss.fault for loss in plan.accepted] == [fault]


def test_a_recreated_topic_with_more_messages_than_before_is_still_recognised():
    with pytest.raises(LandingRefused, match="deleted and created again"):
        plan_landing(landed(5), bounds((0, 900), topic_id="new"))


def test_a_topic_that_is_gone_is_refused_by_whether_it_was_landed():
    with pytest.raises(LandingRefused) as raised:
        plan_landing(landed(5), [], gone=["t", "named"])
    first, second = str(raised.value).splitlines()
    assert first.startswith("Topic 'named': does not exist: expected it, because the TOML file")
    assert second.startswith("Topic 't': does not exist any more: expected it, because bronze")


def test_a_gone_topic_that_is_accepted_is_forgotten():
    assert plan_landing(landed(5), [], gone=["t"], accept_loss=["t"]).landed == LandedOffsets()


def test_every_fault_is_told_at_once():
    with pytest.raises(LandingRefused) as raised:
        plan_landing(landed(5, 9), bounds((8, 20), (0, 3)))
    assert len(str(raised.value).splitlines()) == 2


def test_topics_that_should_exist_are_those_named_and_those_landed():
    text = 'connector = "mysql"\ntopic_prefix = "s"\n[kafka]\ntopics = ["s\\\\..*", "routed"]'
    source = parse_source(text, "s")
    before = landed(1, topic="s.a").merged(landed(1, topic="no_longer_selected"))
    assert gone_topics(source, before, ["s.b"]) == ("routed", "s.a")


def test_no_topic_at_all_is_refused_with_those_that_exist():
    source = parse_source('connector = "mysql"\ntopic_prefix = "s"', "s")
    message = r"Source 's': no topic matches s\\\..*: expected one of the topics that exist: x, y;"
    with pytest.raises(LandingRefused, match=message):
        landing_topics(source, ["y", "x"])


def test_a_batch_id_is_made_of_ranges_alone():
    one, other = OffsetRange("t", 0, 1, 5, "id"), OffsetRange("t", 1, 0, 2, "id")
    assert batch_id([one, other]) == batch_id([other, one])
    ids = {
        batch_id([changed, other])
        for changed in (
            one,
            OffsetRange("u", 0, 1, 5, "id"),
            OffsetRange("t", 2, 1, 5, "id"),
            OffsetRange("t", 0, 2, 5, "id"),
            OffsetRange("t", 0, 1, 6, "id"),
            OffsetRange("t", 0, 1, 5, "other"),
        )
    }
    assert len(ids) == 6
    assert batch_id([]) == ""


@pytest.mark.parametrize(
    ("span", "cores", "tasks"),
    [
        (1, 2, 1),
        (20_000, 2, 1),
        (20_001, 1, 1),
        (20_001, 2, 2),
        (100_000, 2, 2),
        (100_001, 2, 3),
        (475_000, 2, 10),
        (100_000, 100, 10),
    ],
)
def test_each_core_has_a_task_but_of_small_landings(span, cores, tasks):
    ranges = [OffsetRange("t", 0, 0, span, "id")]
    assert landing_tasks(ranges, messages_per_task(ranges, cores)) == tasks


def test_large_ranges_share_no_task_with_others():
    spans = (3, 100_001, 25_000, 25_001, 24_998)
    ranges = [OffsetRange("t", n, 10, 10 + span, "id") for n, span in enumerate(spans)]
    per_task = messages_per_task(ranges, 2)
    alone, shared = parted(ranges, per_task)
    assert [each.partition for each in alone] == [1, 3]
    assert [each.partition for each in shared] == [0, 2, 4]
    assert landing_tasks(ranges, per_task) == 3 + 1 + 2


def test_landed_offsets_are_read_as_written():
    before = LandedOffsets(
        {"t": TopicProgress("a", {0: 5, 10: 1, 2: 0}), "b": TopicProgress("", {})}
    )
    assert LandedOffsets.from_json(before.to_json()) == before
    assert '"partitions":{"0":5,"2":0,"10":1}' in before.to_json()


def test_missing_offsets_come_from_an_older_record():
    newer = LandedOffsets({"t": TopicProgress("id", {0: 5}), "u": TopicProgress("new", {0: 1})})
    older = LandedOffsets(
        {
            "t": TopicProgress("id", {0: 3, 1: 7}),
            "u": TopicProgress("old", {0: 9, 1: 9}),
            "v": TopicProgress("id", {0: 2}),
        }
    )
    assert newer.merged(older) == LandedOffsets(
        {
            "t": TopicProgress("id", {0: 5, 1: 7}),
            "u": TopicProgress("new", {0: 1}),
            "v": TopicProgress("id", {0: 2}),
        }
    )


LOGS = st.dictionaries(st.integers(0, 3), st.integers(0, 40), min_size=1)


@given(LOGS, st.lists(st.integers(0, 50), max_size=8), st.integers(0, 50))
def test_every_offset_is_landed_exactly_once_whatever_the_cuts(ends, cuts, last_limit):
    """Promise 1: every message of an accepted offset range is in bronze exactly once."""
    progress, seen = LandedOffsets(), []
    for limit in [*cuts, last_limit, None]:
        found = tuple(PartitionBounds(n, 0, end, limit) for n, end in sorted(ends.items()))
        plan = plan_landing(progress, [TopicBounds("t", "id", found)])
        seen += [(each.partition, at) for each in plan.ranges for at in range(each.start, each.end)]
        progress = plan.landed
    assert sorted(seen) == [(n, at) for n, end in sorted(ends.items()) for at in range(end)]


@given(LOGS, st.data())
def test_planning_again_after_landing_finds_nothing(ends, data):
    found = tuple(PartitionBounds(n, 0, end) for n, end in sorted(ends.items()))
    before = LandedOffsets(
        {"t": TopicProgress("id", {n: data.draw(st.integers(0, end)) for n, end in ends.items()})}
    )
    plan = plan_landing(before, [TopicBounds("t", "id", found)])
    again = plan_landing(plan.landed, [TopicBounds("t", "id", found)])
    assert (again.ranges, again.landed, again.batch_id) == ((), plan.landed, "")


def test_marks_of_transactions_are_read_before_their_data_and_statements_behind_it():
    text = 'connector = "mysql"\ntopic_prefix = "shop"\n[kafka]\nschema_history = "history"\n'
    source = parse_source(text, "shop")
    pairs = [("history", 0), ("shop", 0), ("shop.a.b", 0), ("shop.a.b", 1), ("shop.transaction", 0)]

    assert reading_turns(source, pairs) == (
        [("shop.transaction", 0)],
        [("shop.a.b", 0), ("shop.a.b", 1)],
        [("history", 0), ("shop", 0)],
    )


@pytest.mark.parametrize(
    ("offsets", "others", "told"),
    [
        (landed(5, 3), landed(5, 3), True),
        (landed(5, 3), landed(6, 3), True),
        (landed(5, 3), landed(4, 9), False),
        (landed(5, 3), landed(5), False),
        (landed(5), landed(5, topic="other"), False),
        (landed(0), landed(5, topic="other"), True),
        (landed(2), landed(5, topic_id="made again"), False),
        (LandedOffsets(), LandedOffsets(), True),
    ],
)
def test_offsets_are_within_others_when_nothing_is_beyond_those(
    offsets: LandedOffsets, others: LandedOffsets, *, told: bool
) -> None:
    assert offsets.are_within(others) is told


def test_offsets_without_ranges_are_those_before_they_were_landed() -> None:
    ranges = [OffsetRange("t", 1, 2, 3, "id"), OffsetRange("new", 0, 0, 4, "other")]
    assert landed(5, 3).without(ranges) == LandedOffsets(
        {**landed(5, 2).topics, "new": TopicProgress("other", {0: 0})}
    )
