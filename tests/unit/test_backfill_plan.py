"""Backfills: which messages of an interval are gone, and what is said of the others."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.config import parse_source
from lakehouse.errors import StepFailed
from lakehouse.plan.records import RunRow
from lakehouse.plan.remaking.backfilling import (
    Contents,
    Gap,
    Interval,
    Seen,
    derived_again,
    gaps,
    nothing_there,
    refuse_lost,
)
from lakehouse.plan.remaking.differences import Difference
from lakehouse.plan.submission import Run, arguments

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def landing(next_offsets: dict[str, int], starts: list[list[object]], **other: object) -> RunRow:
    detail = {
        "starts": starts,
        "offsets": {
            topic: {"id": "one", "partitions": {"0": behind}}
            for topic, behind in next_offsets.items()
        },
    }
    values = {
        "source": "shop",
        "run_id": "run",
        "attempt": 1,
        "step": "land",
        "status": "succeeded",
        "started_at": NOON,
        "ended_at": NOON,
        "batch_id": "",
        "code_hash": "",
        "config_hash": "",
        "counts": "{}",
        "detail": json.dumps(detail),
        "message": "",
    }
    return RunRow(**{**values, **other})


def missing(*rows: RunRow) -> list[tuple[str, int, int]]:
    return [(gap.topic, gap.first, gap.behind) for gap in gaps(rows, ["a", "b"])]


def test_what_was_landed_without_a_break_has_no_gap():
    first, second = landing({"a": 5}, [["a", 0, 0]]), landing({"a": 9}, [["a", 0, 5]])
    assert missing(first, second, landing({"a": 9}, [])) == []


def test_a_landing_that_begins_behind_what_was_landed_leaves_a_gap():
    late, lost = landing({"a": 9}, [["a", 0, 4]]), landing({"a": 20}, [["a", 0, 12]])
    assert missing(late, lost) == [("a", 0, 4), ("a", 9, 12)]


def test_a_topic_of_which_nothing_was_left_to_land_is_a_gap_up_to_its_end():
    assert missing(landing({"a": 7}, [])) == [("a", 0, 7)]


def test_topics_that_hold_no_changes_and_landings_that_failed_do_not_count():
    control = landing({"heartbeat": 9}, [["heartbeat", 0, 4]])
    failed = landing({"a": 9}, [["a", 0, 4]], status="failed")
    assert missing(control, failed, landing({"a": 1}, [["a", 0, 0]], step="apply")) == []


GAP = Gap("a", 0, 4, 7, NOON)


@pytest.mark.parametrize(
    ("seen", "start", "end", "is_refused"),
    [
        (Seen(), NOON - 2 * HOUR, NOON - HOUR, True),
        # What was not there when others were landed was sent before.
        (Seen(), NOON, NOON + HOUR, False),
        (Seen(after=NOON - HOUR), NOON - 2 * HOUR, NOON, True),
        (Seen(after=NOON - HOUR), NOON - HOUR, NOON, False),
        (Seen(before=NOON - 3 * HOUR), NOON - 5 * HOUR, NOON - 3 * HOUR, False),
        (Seen(before=NOON - 3 * HOUR), NOON - 5 * HOUR, NOON - 2 * HOUR, True),
        # A landing that was killed behind its commit left no row.
        (Seen(inside=3), NOON - 2 * HOUR, NOON - HOUR, False),
    ],
)
def test_an_interval_is_refused_if_missing_messages_may_be_of_it(seen, start, end, is_refused):
    found = Contents(1, NOON - 5 * HOUR, NOON, {GAP: seen})
    if not is_refused:
        refuse_lost("shop", Interval(start, end), found)
        return
    with pytest.raises(StepFailed, match=r"a\[0\] 4 to 6: .*first message is of 2026-01-31T07:00"):
        refuse_lost("shop", Interval(start, end), found)


def test_an_interval_without_a_change_says_when_the_first_message_is():
    interval = Interval(NOON - 2 * HOUR, NOON - HOUR)
    assert nothing_there(interval, Contents(0, NOON, NOON + HOUR)) == (
        "nothing to derive again: neither Kafka nor bronze has a change from 2026-01-31T10:00:00Z "
        "until 2026-01-31T11:00:00Z; the first message is of 2026-01-31T12:00:00Z, the newest of "
        "2026-01-31T13:00:00Z"
    )
    assert nothing_there(interval, Contents(0)).endswith("; no message of a table has come yet")


def test_the_outcome_counts_rows_and_names_at_most_twenty_keys_in_all():
    keys = tuple(f'["{number}"]' for number in range(20))
    one = Difference("silver_s.a", before=30, after=40, lost=2, changed=13, keys=keys[:15])
    state = Difference("silver_s.a__state", before=9, after=9, changed=30, keys=keys)
    other = Difference("silver_s.b", before=3, after=3)
    said, numbers = derived_again("00000007", [one, state, other], {"silver_s.c": "it is held"})
    assert numbers == {"rows_derived": 45, "rows_differing": 15, "tables_derived": 2}
    assert said.startswith("45 rows of 2 tables derived again up to cut 00000007: 15 differ; ")
    assert said.count('["') == 20
    assert said.endswith("; silver_s.c stays as it is: it is held")
    assert derived_again("1", [other], {})[0] == (
        "3 rows of 1 tables derived again up to cut 1: none differ"
    )


def test_the_arguments_of_a_backfill_are_complete():
    source = parse_source('connector = "postgresql"\ntopic_prefix = "shop"\n', "shop")
    run = Run(since="2026-01-31T11:00:00+00:00", until="x", tables=("public.orders",))
    assert arguments(source, run)[-2:] == [
        "--from=2026-01-31T11:00:00+00:00",
        "--table=public.orders",
    ]
    assert not [text for text in arguments(source, Run()) if text.startswith("--from")]


@pytest.mark.parametrize(
    "options",
    [
        ["--from", "2026-01-31T11:00:00Z"],
        ["--from", "2026-01-31T11:00:00Z", "--until", "2026-01-31T11:00:00+00:00"],
        ["--table", "public.orders"],
    ],
)
def test_a_command_without_a_whole_interval_is_refused(options):
    ended = CliRunner().invoke(app, ["run", "--source", "shop", *options])
    assert ended.exit_code == 2
    assert "expected --from TIME --until TIME" in ended.output
