"""What maintenance keeps of cuts, branches, tags and snapshots."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakehouse.config import KeepConfig
from lakehouse.plan.records import CutRow
from lakehouse.plan.upkeep.keeping import (
    Cuts,
    History,
    Snapshot,
    cuts_of,
    dead_branches,
    expired,
    kept_cuts,
    living_branches,
    missing_tags,
    old_tags,
)

NOW = datetime(2026, 11, 23, 12, 30, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
KEEP = KeepConfig(all=DAY, hourly=7 * DAY, daily=30 * DAY, last=2)


def cut_row(number: int, state: str = "published", age: timedelta = HOUR, **tables: int) -> CutRow:
    return CutRow(
        source="shop",
        cut_id=f"{number:08d}",
        state=state,
        run_id="run",
        recorded_at=NOW - age,
        token=number,
        offsets="",
        position="",
        transactions=0,
        tables={f"silver_shop.{name}": snapshot for name, snapshot in tables.items()},
        excluded="{}",
        held_keys=0,
        identities="{}",
        renames="{}",
        moves="[]",
    )


def history(
    *line: int, age: timedelta = 10 * DAY, main: int | None = None, **others: tuple[int, int]
) -> History:
    """Snapshots one after the other, the last one the head of `main`; others: id and parent."""
    parents = dict(zip(line, (None, *line), strict=False))
    found = {number: Snapshot(parents[number], NOW - age) for number in line}
    found |= {number: Snapshot(parent, NOW - age) for number, parent in others.values()}
    heads = {name: number for name, (number, _) in others.items()}
    return History(found, {"main": main or line[-1], **heads})


def every(step: timedelta, count: int) -> dict[str, datetime]:
    """So many cuts, the newest of now."""
    return {f"{count - n:08d}": NOW - n * step for n in range(count)}


def test_all_cuts_of_a_day_stay_then_the_last_of_each_hour_then_of_each_day():
    cuts = every(timedelta(minutes=5), 12 * 24 * 40)
    kept = kept_cuts(cuts, KEEP, NOW)
    ages = sorted(NOW - cuts[cut] for cut in kept)
    assert sum(age <= DAY for age in ages) == 12 * 24 + 1
    assert sum(DAY < age <= 7 * DAY for age in ages) == 6 * 24
    assert sum(7 * DAY < age <= 30 * DAY for age in ages) == 23
    assert max(ages) <= 30 * DAY
    hourly = [cuts[cut] for cut in kept if DAY < NOW - cuts[cut] <= 7 * DAY]
    assert {time.minute for time in hourly} == {55}


def test_a_cut_that_is_kept_today_was_kept_each_day_before():
    cuts = every(timedelta(minutes=20), 3 * 24 * 40)
    earlier = kept_cuts(cuts, KEEP, NOW)
    for days in range(1, 35):
        later = kept_cuts(cuts, KEEP, NOW + days * DAY)
        assert later <= earlier
        earlier = later


def test_the_newest_cuts_stay_whatever_their_age():
    cuts = every(DAY, 5)
    assert kept_cuts(cuts, KEEP, NOW + 400 * DAY) == {"00000004", "00000005"}
    many = KEEP.model_copy(update={"last": 9})
    assert kept_cuts(cuts, many, NOW + 400 * DAY) == set(cuts)


def test_snapshots_of_kept_and_of_announced_cuts_are_needed_those_of_others_are_not():
    rows = [
        cut_row(1, age=50 * DAY, orders=11),
        cut_row(2, age=49 * DAY, orders=12),
        cut_row(3, "pending", age=40 * DAY, orders=13),
        cut_row(3, age=40 * DAY, orders=13, parts=21),
        cut_row(4, age=2 * HOUR, orders=14, parts=21),
        cut_row(5, "pending", age=HOUR, orders=15, parts=21),
    ]
    cuts = cuts_of(rows, KEEP, NOW)
    assert cuts.needed == {13: "00000003", 14: "00000004", 15: "00000005", 21: "00000003"}
    assert cuts.newest == {14, 15, 21}
    assert cuts.published == 4


def test_a_cut_is_as_old_as_its_first_published_row():
    rows = [cut_row(1, age=40 * DAY, orders=11), cut_row(1, age=HOUR, orders=11)]
    rows += [cut_row(number, age=HOUR, orders=11 + number) for number in (2, 3)]
    assert 11 not in cuts_of(rows, KEEP, NOW).needed


def test_a_cut_that_was_announced_behind_a_later_one_needs_nothing():
    rows = [cut_row(3, orders=13), cut_row(2, "pending", orders=12)]
    assert cuts_of(rows, KEEP, NOW).needed == {13: "00000003"}


def test_a_source_without_cuts_needs_nothing():
    assert cuts_of([], KEEP, NOW) == Cuts()


@pytest.mark.parametrize(
    ("name", "staged", "work", "dead"),
    [
        ("staging_run_1_1_3", True, 5, True),
        ("staging_run_1_1_5", True, 5, False),
        ("staging_run_1_1_4", False, 4, True),
        ("staging_run_1_1_5", False, 5, False),
        ("staging_names_00000003", True, 4, True),
        ("maintenance_7", True, 5, True),
        ("rebuild_orders_3", True, 5, True),
        ("landing_run_1_1_ab", True, 5, True),
        ("landing_run_1_1_ab", False, 5, False),
        ("somebody", False, 5, False),
    ],
)
def test_a_branch_goes_once_nobody_comes_back_for_it(name, staged, work, dead):
    heads = {name: (9, 2)} if staged else {}
    table = history(1, 2, **heads)
    if not staged:
        table = replace(table, branches={**table.branches, name: 2})
    cuts = Cuts(published=4)
    assert dead_branches(table, cuts, work, NOW) == ([name] if dead else [])
    assert living_branches(table) == ([] if name.startswith("maintenance_") else [name])


def test_a_branch_that_an_announced_cut_needs_stays():
    table = history(1, 2, staging_run_1_1_3=(9, 2))
    assert dead_branches(table, Cuts(newest=frozenset({9})), 5, NOW) == []


def test_a_landing_s_branch_stays_as_long_as_a_landing_may_last():
    young = history(1, 2, age=23 * HOUR, landing_run_1_1_ab=(9, 2))
    assert dead_branches(young, Cuts(), 0, NOW) == []
    begun = replace(young, branches={"main": 2, "landing_run_1_1_ab": 1})
    assert dead_branches(begun, Cuts(), 0, NOW) == []
    assert dead_branches(begun, Cuts(), 0, NOW + 2 * HOUR) == ["landing_run_1_1_ab"]


def test_a_rebuild_s_branch_stays_for_a_week():
    young = history(1, 2, age=6 * DAY, rebuild_run_1_1=(9, 2))
    assert dead_branches(young, Cuts(), 0, NOW) == []
    assert dead_branches(young, Cuts(), 0, NOW + 2 * DAY) == ["rebuild_run_1_1"]


def test_tags_of_cuts_go_with_their_snapshot_and_those_of_others_stay():
    tags = {
        "cut_00000001": 1,
        "cut_00000002": 2,
        "of_a_person": 1,
        "undo_00000003": 1,
        "undo_00000004": 1,
        "undo_00000077": 1,
    }
    table = replace(history(1, 2, 3), tags=tags)
    times = {"00000003": NOW - 8 * DAY, "00000004": NOW - 6 * DAY}
    old = old_tags(table, Cuts(needed={2: "00000005"}, times=times), 7 * DAY, NOW)
    assert old == ["cut_00000001", "undo_00000003"]


def test_a_snapshot_of_a_kept_cut_that_no_tag_names_gets_one():
    table = replace(history(1, 2, 3), tags={"cut_00000001": 1})
    cuts = Cuts(needed={1: "00000001", 3: "00000002", 77: "00000003"})
    assert missing_tags(table, cuts) == {"cut_00000002": 3}


def test_snapshots_expire_that_nothing_names():
    table = replace(history(1, 2, 3, 4), tags={"cut_00000002": 2})
    assert expired(table, Cuts(), (), NOW) == (1, 3)
    assert expired(table, Cuts(needed={1: "00000001"}), (), NOW) == (3,)


def test_a_reader_may_still_use_what_main_left_a_short_time_ago():
    assert expired(history(1, 2, 3, age=23 * HOUR), Cuts(), (), NOW) == ()


def test_main_goes_back_to_the_newest_cut_and_to_what_tells_the_offsets():
    table = history(1, 2, 3, 4, 5)
    assert expired(table, Cuts(newest=frozenset({3})), (), NOW) == (1, 2)
    assert expired(table, Cuts(), (4,), NOW) == (1, 2, 3)
    assert expired(table, Cuts(newest=frozenset({4})), (2,), NOW) == (1,)


def test_what_a_staged_run_has_made_stays_down_to_main():
    table = history(1, 2, staging_run_1_1_5=(8, 7))
    table = replace(table, snapshots={**table.snapshots, 7: Snapshot(2, NOW - 10 * DAY)})
    assert expired(table, Cuts(), (), NOW) == (1,)


def test_a_table_without_snapshots_has_nothing_to_expire():
    empty = History({})
    assert expired(empty, Cuts(newest=frozenset({1})), (3,), NOW) == ()
    assert dead_branches(empty, Cuts(), 1, NOW) == []
