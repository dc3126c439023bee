"""The marks of columns in which older rows may differ, from batch to batch."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lakehouse.names import TableIdentity
from lakehouse.plan.batches.tables import Rewritten, TablePlan, Version
from lakehouse.plan.cuts.stale import Stale, followed, new_marks, parsed, stale_after
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow
from lakehouse.plan.schemas.renames import Rename
from lakehouse.plan.schemas.schema import SchemaPlan
from lakehouse.plan.schemas.types import Column, Kind, ValueType
from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress
from lakehouse.signalling.resnapshot import signal_id

TOPIC, SILVER = "shop.orders", "silver_shop.shop__orders"
END = LandedOffsets({TOPIC: TopicProgress("id", {0: 50, 1: 60})})
ID, A = (Column(name, ValueType(Kind.CAST, "int"), optional=True) for name in ("id", "a"))
PLAN = TablePlan(
    identity=TableIdentity("shop", None, "orders"),
    silver=SILVER,
    exists=True,
    columns={"id": "int", "a": "int"},
    versions=(
        Version(1, (ID,), ("id",), {(TOPIC, 0): 40}),
        Version(2, (ID, A), ("id",), {(TOPIC, 0): 45}),
        Version(3, (ID, A), ("id",), {(TOPIC, 0): 47, (TOPIC, 1): 55}),
    ),
    key=("id",),
    key_in_row=False,
    halves=False,
    schema=SchemaPlan(),
    renames=(),
    renamed="",
    defaults={},
    start=Progress(),
    places=((TOPIC, 0),),
    limits={},
    truncate="",
    placeholders=False,
)
CUT = CutRow(
    source="shop",
    cut_id="1",
    state="published",
    run_id="run",
    recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
    token=1,
    offsets="{}",
    position="",
    transactions=0,
    tables={},
    excluded="{}",
    held_keys=0,
    identities="{}",
    renames="{}",
    moves="[]",
)
MARK = Stale("why", ((TOPIC, 0, 45), (TOPIC, 1, 60)))
OLDER = Stale("why", ((TOPIC, 0, 40), (TOPIC, 1, 60)))


@pytest.mark.parametrize(
    ("fingerprint", "since"),
    [
        # The first version that has the column; in the other topic partition it has not come yet.
        (0, ((TOPIC, 0, 45), (TOPIC, 1, 60))),
        (3, ((TOPIC, 0, 47), (TOPIC, 1, 55))),
    ],
)
def test_rows_are_older_before_the_version_that_shows_the_change(fingerprint, since):
    plan = replace(PLAN, stale={"A": Rewritten("why", fingerprint)})
    assert new_marks(plan, END) == {"A": Stale("why", since)}


def test_marks_follow_their_columns():
    rename = Rename("1", was="a", name="b")
    assert followed({"a": MARK}, replace(PLAN, renames=(rename,))) == {"b": MARK}
    assert followed({"a": MARK}, replace(PLAN, dropped=("a",))) == {}


def test_a_cut_keeps_the_marks_of_tables_that_its_batch_did_not_look_at():
    one = stale_after(None, {SILVER: {"a": MARK}}, [SILVER], {})
    base = replace(CUT, stale=one)
    assert parsed(json.loads(one)) == {SILVER: {"a": MARK}}
    assert stale_after(base, {}, [SILVER], {}) == one
    assert stale_after(base, {SILVER: {}}, [], {}) == one, "its suites refused it"
    assert stale_after(base, {SILVER: {}}, [SILVER], {}) == ""
    assert parsed(json.loads(stale_after(base, {}, [], {SILVER: "s.new"}))) == {
        "s.new": {"a": MARK}
    }
    assert stale_after(base, {}, [], {SILVER: f"{SILVER}__retired_1"}) == ""


def test_a_signal_is_asked_for_once_per_mark():
    ids = {
        signal_id("shop", "shop.orders", marks)
        for marks in ({"a": MARK}, {"renamed": MARK}, {"a": MARK, "b": OLDER}, {"b": OLDER})
    }
    assert len(ids) == 2
