"""Which quarantined messages a replay judges, what becomes of each, and the counts of the law."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lakehouse.names import TableIdentity
from lakehouse.plan.batches.conservation import Law, laws_of, to_json_counts
from lakehouse.plan.records import QuarantineRow
from lakehouse.plan.remaking.replay import (
    Fate,
    Judgement,
    Message,
    fate,
    open_rows,
    replay_laws,
    replayed_rows,
    sentence,
)
from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ORDERS = TableIdentity(None, "public", "orders")
HEARTBEAT = TableIdentity(None, "public", "heartbeat")
HELD = TableIdentity(None, "public", "held")
JUDGED = Judgement(
    controls={HEARTBEAT},
    strays={("all", ORDERS)},
    staged={ORDERS, HEARTBEAT},
    bad={("orders", 0, 4)},
    applied={("orders", 0, 5)},
)


def quarantined(offset: int, *, topic_id: str = "id", state: str = "open", minute: int = 0):
    return QuarantineRow(
        source="shop",
        topic="orders",
        topic_id=topic_id,
        partition=0,
        offset=offset,
        table="orders",
        reason="bad_value",
        detail="columns n",
        state=state,
        run_id="run",
        recorded_at=NOW + timedelta(minutes=minute),
    )


def message(offset: int, *, topic: str = "orders", identity=ORDERS, **more) -> Message:
    values = {"reason": None, "control": False, "op": "u", **more}
    return Message(place=(topic, 0, offset), identity=identity, **values)


def test_open_is_what_the_newest_row_says_of_a_message_that_the_cut_is_behind():
    rows = [
        quarantined(2),
        quarantined(1),
        quarantined(3),
        quarantined(3, state="replayed", minute=1),
        quarantined(4, topic_id="of a topic that was made again"),
        quarantined(7),
    ]
    applied = LandedOffsets({"orders": TopicProgress("id", {0: 7})})
    assert list(open_rows(rows, applied)) == [("orders", 0, 1), ("orders", 0, 2)]


@pytest.mark.parametrize(
    ("judged", "became"),
    [
        (message(5), Fate.APPLIED),
        (message(6), Fate.SUPERSEDED),
        (message(6, op="t"), Fate.APPLIED),
        (message(4), Fate.OPEN),
        (message(6, topic="all"), Fate.OPEN),
        (message(6, identity=HELD), Fate.OPEN),
        (message(6, identity=None, reason="not_json"), Fate.OPEN),
        (message(6, identity=HEARTBEAT), Fate.CONTROL),
        (message(6, identity=None, control=True), Fate.CONTROL),
    ],
)
def test_a_message_has_one_fate(judged: Message, became: Fate):
    assert fate(judged, JUDGED) is became


def test_what_is_taken_from_the_quarantine_was_pending_and_what_waited_still_waits():
    before = {("orders", 0): Law(landed=9, applied=6, open_transaction=2, held_table=1)}
    fates = {("orders", 0, 1): Fate.APPLIED, ("orders", 0, 2): Fate.OPEN, ("x", 1, 3): Fate.CONTROL}
    laws = replay_laws(laws_of(to_json_counts(before)), fates)
    assert laws == {
        ("orders", 0): Law(
            pending_before=5, applied=1, quarantined=1, open_transaction=2, held_table=1
        ),
        ("x", 1): Law(pending_before=1, control=1),
    }
    assert all(law.holds for law in laws.values())


def test_a_message_is_replayed_unless_it_stays_open_or_is_gone_from_bronze():
    rows = {("orders", 0, n): quarantined(n) for n in (1, 2, 3, 4)}
    fates = dict(zip(rows, (Fate.APPLIED, Fate.OPEN, Fate.SUPERSEDED), strict=False))
    found = replayed_rows(rows, fates, "again", NOW)
    assert [(r.offset, r.reason, r.detail, r.state, r.run_id) for r in found] == [
        (1, "bad_value", "applied", "replayed", "again"),
        (3, "bad_value", "superseded", "replayed", "again"),
    ]
    assert sentence(rows, fates) == (
        "4 quarantined messages judged again; bad_value: 1 applied, 1 superseded, 2 stay open"
    )
    assert sentence({}, {}) == "nothing in quarantine is open"
