"""What a landing added, from the rows that landings left and from what bronze had before them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lakehouse.plan.records import RunRow
from lakehouse.plan.topics.offsets import LandedOffsets, OffsetRange, TopicProgress
from lakehouse.quality.measuring.landed import LandedRanges, landed_ranges

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
Starts = list[tuple[str, int, int]]


def offsets(end: int, topic_id: str = "id") -> LandedOffsets:
    return LandedOffsets({"t": TopicProgress(topic_id, {0: end})})


def landing(run_id: str, minute: int, end: int, starts: Starts, **detail: object) -> RunRow:
    told = {
        "offsets": json.loads(offsets(end).to_json()),
        "starts": starts,
        "snapshot_id": 7,
        "run_started": BEGUN.isoformat(),
        **detail,
    }
    at = BEGUN + timedelta(minutes=minute)
    return RunRow(
        source="s",
        run_id=run_id,
        attempt=1,
        step="land",
        status="succeeded",
        started_at=at,
        ended_at=at + timedelta(seconds=30),
        batch_id="",
        code_hash="",
        config_hash="",
        counts=json.dumps({"topics": {"t": {"0": 3}}}),
        detail=json.dumps(told),
        message="",
    )


def validation(run_id: str, minute: int, status: str = "succeeded") -> RunRow:
    row = landing(run_id, minute, 0, [])
    return replace(row, step="validate", status=status, counts="{}", detail="{}")


def landed_of(*rows: RunRow, before: LandedOffsets | None = None) -> LandedRanges:
    return landed_ranges(rows, "run", BEGUN, lambda _: before)


EARLIER = landing("earlier", 1, 100, [("t", 0, 20)])
FIRST = (EARLIER, validation("earlier", 2))


def test_a_range_goes_from_the_end_of_the_landing_before_to_the_end_of_this_one() -> None:
    landed = landed_of(*FIRST, landing("run", 5, 120, [("t", 0, 100)]), before=offsets(100))

    assert landed.ranges == (OffsetRange("t", 0, 100, 120, "id"),)
    assert landed.skipped == {("t", 0): 0}
    assert landed.messages == {("t", 0): 3}


def test_a_new_topic_begins_where_its_first_landing_began() -> None:
    assert landed_of(replace(EARLIER, run_id="run"), before=LandedOffsets()).ranges == (
        OffsetRange("t", 0, 20, 100, "id"),
    )


def test_offsets_between_two_landings_are_counted() -> None:
    gap = landing("run", 5, 120, [("t", 0, 104)])

    assert landed_of(*FIRST, gap, before=offsets(100)).skipped == {("t", 0): 4}


def test_offsets_whose_loss_a_person_accepted_are_no_gap() -> None:
    gap = landing("run", 5, 120, [("t", 0, 104)], accepted_topics=["t"])

    assert landed_of(*FIRST, gap, before=offsets(100)).skipped == {}


def test_a_range_begins_lower_where_the_landing_before_was_taken_back() -> None:
    again = landing("run", 5, 120, [("t", 0, 60)])
    [found] = landed_of(*FIRST, again).ranges
    assert (found.start, found.end) == (60, 120)


def test_a_topic_that_was_created_again_has_no_gap() -> None:
    gap = landing("run", 5, 120, [("t", 0, 104)])

    assert landed_of(*FIRST, gap, before=offsets(100, "another")).skipped == {("t", 0): 0}


def test_what_a_killed_try_landed_lies_in_the_range_and_is_no_gap() -> None:
    """Its row was never written; the commit in bronze says how far it came."""
    landed = landed_of(*FIRST, landing("run", 5, 120, [("t", 0, 110)]), before=offsets(110))

    assert landed.ranges == (OffsetRange("t", 0, 100, 120, "id"),)
    assert landed.skipped == {("t", 0): 0}


def test_what_landed_before_and_was_never_validated_is_judged_with_it() -> None:
    """Its run was killed, or failed behind its landing; runs without a message add nothing."""
    idle = replace(landing("idle", 4, 110, []), counts=json.dumps({"topics": {"t": {"0": 0}}}))
    failed = (landing("failed", 3, 110, [("t", 0, 100)]), validation("failed", 4, "failed"))
    mine = landing("run", 5, 120, [("t", 0, 110)])
    landed = landed_of(*FIRST, *failed, idle, mine)

    assert landed.ranges == (OffsetRange("t", 0, 100, 120, "id"),)
    assert landed.runs == ("failed", "run")
    assert landed.since == failed[0].started_at
    assert landed.messages == {("t", 0): 6}


def test_what_a_run_without_a_message_of_its_own_finds_unjudged_is_judged() -> None:
    idle = replace(landing("run", 5, 100, []), counts="{}")

    assert landed_of(EARLIER, idle).ranges == (OffsetRange("t", 0, 20, 100, "id"),)
    assert landed_of(*FIRST, idle).ranges == ()


def test_a_validation_before_a_landing_has_not_seen_it() -> None:
    again = landing("earlier", 3, 110, [("t", 0, 100)])
    landed = landed_of(*FIRST, again, landing("run", 5, 120, [("t", 0, 110)]))

    assert landed.ranges == (OffsetRange("t", 0, 100, 120, "id"),)
    assert landed.runs == ("earlier", "run")


def test_gaps_are_not_judged_where_no_commit_tells_what_was_before() -> None:
    assert landed_of(*FIRST, landing("run", 5, 120, [("t", 0, 104)])).skipped == {}


def test_hours_are_counted_to_the_landing_or_to_the_end_of_its_data_interval() -> None:
    newest = int((BEGUN - timedelta(minutes=56)).timestamp()) * 1_000_000
    live = landed_of(landing("run", 5, 9, []))
    early = landed_of(landing("run", 5, 9, [], until=BEGUN.isoformat()))
    archive = landed_of(landing("run", 5, 9, [], archive="/folder"))

    assert [each.hours_behind(newest) for each in (live, early, archive)] == [1, 0, None]
    assert live.hours_behind(None) is None
    assert live.hours_behind(newest + 10**12) == 0
