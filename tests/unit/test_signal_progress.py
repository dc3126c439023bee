"""What notifications say of a signal, as Debezium 3.6.1 sends them."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from lakehouse.plan.signals.followed import Asked, Followed
from lakehouse.plan.signals.notifications import INITIAL, Notification, parse_notification
from lakehouse.plan.signals.progress import advance, begin, said
from lakehouse.plan.signals.request import Action, SnapshotType

ORDERS, LINES = "public.orders", "public.lines"
ID = "s-1"
SNAPSHOT = Asked(Action.SNAPSHOT, ID, collections=(ORDERS, LINES))
ONE = Asked(Action.SNAPSHOT, ID, collections=(ORDERS,))
BLOCKING = Asked(Action.SNAPSHOT, ID, SnapshotType.BLOCKING, (ORDERS,))


def message(event: str, *, kind: str = "Incremental Snapshot", id_: str = ID, **data: str):
    payload = {
        "id": id_,
        "type": event,
        "aggregate_type": kind,
        "additional_data": {"connector_name": "shop", **data},
        "timestamp": 1,
    }
    whole = {"schema": {}, "payload": payload}
    found = parse_notification(json.dumps(whole).encode(), 1_000)
    assert found is not None
    return found


def started(*tables: str, **more) -> Notification:
    return message("STARTED", data_collections=",".join(tables), **more)


def chunk(table: str, *queued: str, **more) -> Notification:
    return message(
        "IN_PROGRESS",
        data_collections=",".join(queued or (table,)),
        current_collection_in_progress=table,
        maximum_key="90",
        last_processed_key="40",
        **more,
    )


def scanned(table: str, *queued: str, status: str = "SUCCEEDED", rows: int = 9, **more):
    return message(
        "TABLE_SCAN_COMPLETED",
        data_collections=",".join(queued or (table,)),
        scanned_collection=table,
        total_rows_scanned=str(rows),
        status=status,
        **more,
    )


def fold(asked: Asked, notifications: Iterable[Notification]) -> Followed:
    state = begin(asked)
    for each in notifications:
        state = advance(state, each)
    return state


def statuses(state: Followed) -> dict[str, str]:
    return {name: table.status for name, table in state.tables.items()}


def test_a_snapshot_of_two_tables_ends_when_both_are_read():
    story = [
        started(ORDERS, LINES),
        chunk(ORDERS, ORDERS, LINES),
        chunk(ORDERS, ORDERS, LINES),
        scanned(ORDERS, ORDERS, LINES, rows=1500),
        chunk(LINES),
    ]
    before = fold(SNAPSHOT, story)
    assert (before.is_seen, before.ended_ms) == (True, None)
    assert before.sentences() == (f"{ORDERS}: read, 1500 rows", f"{LINES}: chunk 1")
    after = fold(SNAPSHOT, [*story, scanned(LINES, rows=7)])
    assert (after.ended_ms, after.rows, after.failures) == (1_000, 1507, ())


@pytest.mark.parametrize(
    "status", ["NO_PRIMARY_KEY", "SKIPPED", "SQL_EXCEPTION", "UNKNOWN_SCHEMA", "SOMETHING_NEW"]
)
def test_a_failure_that_the_connector_reports_as_completed_is_one(status: str):
    story = [
        started(ORDERS, LINES),
        scanned(ORDERS, ORDERS, LINES, status=status, rows=0),
        scanned(LINES),
        message("COMPLETED"),
    ]
    found = fold(SNAPSHOT, story)
    assert found.ended_ms is not None
    [failure] = found.failures
    assert failure.startswith(f"{ORDERS}: ")


def test_no_row_to_read_is_no_failure():
    found = fold(ONE, [started(ORDERS), scanned(ORDERS, status="EMPTY", rows=0)])
    assert found.failures == ()
    assert found.sentences() == (
        f"{ORDERS}: no row to read: it is empty, or no row fits the condition, 0 rows",
    )


def test_what_is_said_before_the_signal_is_taken_is_of_another_one():
    other = [
        started(ORDERS, id_="s-0"),
        scanned(ORDERS, id_="s-0"),
        message("COMPLETED", id_="s-0"),
    ]
    found = fold(ONE, other)
    assert (found.is_seen, found.ended_ms) == (False, None)
    assert found.sentences() == ("signal s-1: the connector has not answered yet",)


def test_a_reading_that_an_earlier_signal_asked_for_does_not_count():
    story = [
        chunk(ORDERS, ORDERS, LINES, ORDERS),
        scanned(ORDERS, ORDERS, LINES, ORDERS),
        scanned(LINES, LINES, ORDERS),
    ]
    waiting = fold(ONE, story)
    assert waiting.ended_ms is None
    assert fold(ONE, [*story, scanned(ORDERS)]).ended_ms == 1_000


def test_a_later_signal_gives_its_id_to_the_notifications_of_this_one():
    story = [
        started(ORDERS),
        chunk(ORDERS, ORDERS, LINES, id_="s-2"),
        scanned(ORDERS, ORDERS, LINES, id_="s-2"),
    ]
    assert fold(ONE, story).ended_ms == 1_000


def test_a_table_that_the_connector_does_not_take_is_a_failure_at_once():
    found = fold(ONE, [started()])
    assert statuses(found) == {ORDERS: "NOT_TAKEN"}
    assert found.ended_ms == 1_000


def test_a_stop_of_all_says_completed_without_a_status_and_is_no_success():
    story = [
        started(ORDERS, LINES),
        chunk(ORDERS, ORDERS, LINES),
        message("COMPLETED"),
        message("ABORTED", id_="random", data_collections=f"{LINES},{ORDERS}"),
    ]
    found = fold(SNAPSHOT, story)
    assert statuses(found) == {ORDERS: "STOPPED", LINES: "STOPPED"}
    assert len(found.failures) == 2


def test_a_stop_of_one_table_lets_the_other_go_on():
    story = [started(ORDERS, LINES), message("ABORTED", data_collections=LINES)]
    waiting = fold(SNAPSHOT, story)
    assert (statuses(waiting), waiting.ended_ms) == ({ORDERS: "", LINES: "STOPPED"}, None)
    ended = fold(SNAPSHOT, [*story, scanned(ORDERS)])
    assert (len(ended.failures), ended.ended_ms) == (1, 1_000)


def test_older_connectors_abort_all_without_saying_what():
    assert fold(SNAPSHOT, [started(ORDERS, LINES), message("ABORTED")]).ended_ms == 1_000


def test_a_pause_is_told_and_ends_nothing():
    story = [started(ORDERS), message("PAUSED", data_collections=ORDERS)]
    paused = fold(ONE, story)
    assert (paused.is_paused, paused.ended_ms) == (True, None)
    resumed = advance(paused, message("RESUMED", data_collections=ORDERS))
    assert said(paused, resumed) == ("resumed",)


def test_of_many_chunks_ever_fewer_are_told():
    state, told = begin(ONE), []
    for each in [started(ORDERS), *(chunk(ORDERS) for _ in range(300))]:
        after = advance(state, each)
        told += said(state, after)
        state = after
    assert told[0] == "signal s-1: taken by the connector"
    assert [int(text.rpartition(" ")[2]) for text in told[1:]] == [
        *(1, 2, 4, 8, 16, 32, 64, 100),
        *(128, 200, 256, 300),
    ]


def test_no_key_of_a_row_is_ever_told():
    state = advance(begin(ONE), chunk(ORDERS))
    assert not any("40" in text or "90" in text for text in state.sentences())


@pytest.mark.parametrize(
    ("action", "event"),
    [(Action.STOP, "ABORTED"), (Action.PAUSE, "PAUSED"), (Action.RESUME, "RESUMED")],
)
def test_stop_pause_and_resume_end_with_their_answer(action: Action, event: str):
    asked = Asked(action, ID)
    assert fold(asked, [chunk(ORDERS, id_="s-0")]).ended_ms is None
    assert fold(asked, [message(event, id_="s-0", data_collections=ORDERS)]).ended_ms == 1_000


def test_a_blocking_snapshot_is_known_by_its_tables():
    def blocking(event: str, **data: str) -> Notification:
        return message(event, kind=INITIAL, id_="random", **data)

    story = [
        blocking("STARTED"),
        blocking("IN_PROGRESS", data_collections=LINES, current_collection_in_progress=LINES),
        blocking("COMPLETED"),
        started(ORDERS),
        blocking("STARTED"),
        blocking("IN_PROGRESS", data_collections=ORDERS, current_collection_in_progress=ORDERS),
    ]
    running = fold(BLOCKING, story)
    assert (running.is_seen, running.ended_ms) == (True, None)
    read = blocking(
        "TABLE_SCAN_COMPLETED",
        scanned_collection=ORDERS,
        data_collections=ORDERS,
        total_rows_scanned="80",
        status="SUCCEEDED",
    )
    done = fold(BLOCKING, [*story, read, blocking("COMPLETED")])
    assert (done.ended_ms, done.rows, done.failures) == (1_000, 80, ())
    aborted = fold(BLOCKING, [*story, blocking("ABORTED")])
    assert len(aborted.failures) == 1


@pytest.mark.parametrize("value", [None, b"", b"no json", b"[1]", b'{"payload": null}', b"{}"])
def test_what_is_no_notification_is_skipped(value):
    assert parse_notification(value, 1) is None


def test_notifications_without_a_schema_are_read_too():
    bare = b'{"id": "a", "aggregate_type": "Initial Snapshot", "type": "SKIPPED"}'
    found = parse_notification(bare, 5)
    assert found == Notification("a", INITIAL, "SKIPPED", {}, 5)
