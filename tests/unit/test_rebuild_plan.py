"""Which tables a rebuild takes, what it refuses, and how it tells what differs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakehouse.config import parse_source
from lakehouse.errors import StepFailed
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.batch import TableRules, plan_table
from lakehouse.plan.batches.table_versions import TableFacts
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow, QuarantineRow, RunRow
from lakehouse.plan.remaking.differences import Difference
from lakehouse.plan.remaking.rebuilding import Choice, Rebuild, choose, granted, rebuild_to_undo
from lakehouse.plan.remaking.replaceable import landed_messages, refuse_gaps, refuse_meanwhile
from lakehouse.plan.remaking.replay import put_back, taken_out
from lakehouse.plan.schemas.row_schema import RowSchema
from lakehouse.plan.schemas.types import Column, Kind, ValueType
from lakehouse.plan.submission import Run, arguments
from tests.support.groups import group_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ORDERS, ITEMS = "silver_shop.public__orders", "silver_shop.public__items"
CUT = CutRow(
    source="shop",
    cut_id="00000007",
    state="published",
    run_id="run",
    recorded_at=NOW,
    token=7,
    offsets="",
    position="",
    transactions=0,
    tables={ORDERS: 1, ITEMS: 2, f"{ORDERS}__retired_1": 3},
    excluded="",
    held_keys=0,
    identities=json.dumps(
        {
            ORDERS: [None, "public", "orders", 1],
            f"{ORDERS}__retired_1": [None, "public", "orders"],
            ITEMS: [None, "public", "items"],
        }
    ),
    renames="",
    moves="",
)
HELD = json.dumps({ITEMS: {"cut": "00000005", "reason": "narrow_type", "offsets": ""}})


def test_a_rebuild_takes_every_table_that_is_published_and_none_that_is_retired():
    assert sorted(choose(CUT, Rebuild(), "postgresql").tables) == [ITEMS, ORDERS]


def test_a_rebuild_of_one_table_takes_it_as_the_toml_file_names_it():
    choice = choose(CUT, Rebuild(("public.orders",)), "postgresql")
    assert choice.tables == {ORDERS: TableIdentity(None, "public", "orders", 1)}
    assert choice.left == {}


def test_a_table_that_is_unknown_is_refused_with_those_that_there_are():
    with pytest.raises(StepFailed, match=r"public\.none.*expected one of public\.items, public"):
        choose(CUT, Rebuild(("public.none",)), "postgresql")


def test_a_table_behind_the_cut_stays_as_it_is_unless_it_was_asked_for():
    held = replace(CUT, excluded=HELD)
    choice = choose(held, Rebuild(), "postgresql")
    assert (list(choice.tables), choice.left) == (
        [ORDERS],
        {ITEMS: "it is behind the cut: narrow_type"},
    )
    with pytest.raises(StepFailed, match="public__items: it is behind the cut: narrow_type"):
        choose(held, Rebuild(("public.items",)), "postgresql")


@pytest.mark.parametrize(
    ("choice", "reason"),
    [(Choice({}, {ORDERS: "no"}), "public__orders: no"), (Choice({}), "no table is published")],
)
def test_a_rebuild_of_nothing_is_refused(choice: Choice, reason: str):
    with pytest.raises(StepFailed, match=reason):
        granted("shop", choice, Rebuild())


def landing(number: int, counts: object, status: str = "succeeded", step: str = "land") -> RunRow:
    return RunRow(
        source="shop",
        run_id=f"run{number}",
        attempt=1,
        step=step,
        status=status,
        started_at=NOW,
        ended_at=NOW,
        batch_id="",
        code_hash="",
        config_hash="",
        counts=json.dumps(counts),
        detail="{}",
        message="",
    )


def test_what_was_landed_is_the_sum_of_all_landings_that_succeeded():
    rows = [
        landing(1, {"messages": 5, "topics": {"a": {"0": 2, "1": 3}}}),
        landing(2, {"messages": 4, "topics": {"a": {"0": 4}}}),
        landing(3, {"messages": 9, "topics": {"a": {"0": 9}}}, status="failed"),
        landing(4, {"a[0]": {"landed": 2}}, step="apply"),
    ]
    assert landed_messages(rows) == {("a", 0): 6, ("a", 1): 3}


def test_bronze_may_have_more_messages_than_were_recorded_but_never_fewer():
    landed = {("a", 0): 6, ("b", 1): 1}
    refuse_gaps("shop", landed, {("a", 0): 7, ("b", 1): 1}, {"a": {"x"}})
    with pytest.raises(StepFailed, match=r"has 5 messages of a\[0\]: expected the 6"):
        refuse_gaps("shop", landed, {("a", 0): 5, ("b", 1): 1}, {})
    with pytest.raises(StepFailed, match=r"has 0 messages of b\[1\]"):
        refuse_gaps("shop", landed, {("a", 0): 6}, {})


def test_a_topic_that_was_created_again_cannot_be_read_as_one():
    with pytest.raises(StepFailed, match=r"'a' was created again \(ids \['x', 'y'\]\)"):
        refuse_gaps("shop", {}, {}, {"a": {"y", "x"}, "b": {"z"}})


@pytest.mark.parametrize(
    ("cut", "reason"),
    [
        ({"moves": json.dumps([[ORDERS, f"{ORDERS}__retired_1"]])}, "tables got other names"),
        (
            {"renames": json.dumps({ORDERS: {"columns": [["a", "b"]], "position": "1"}})},
            "columns got other names, or went",
        ),
        ({"excluded": HELD.replace("items", "orders")}, "tables stopped"),
        ({"replaced": json.dumps({f"{ORDERS}__state": 5})}, "another rebuild was published"),
    ],
)
def test_what_cannot_be_caught_up_is_refused_where_it_is_of_a_table_of_the_rebuild(
    cut: dict[str, str], reason: str
):
    later = replace(CUT, cut_id="00000008", **cut)
    refuse_meanwhile(CUT, [replace(CUT, cut_id="00000008"), later], [ITEMS], [])
    with pytest.raises(StepFailed, match=f"cut 00000008: {reason}: {ORDERS}"):
        refuse_meanwhile(CUT, [later], [ORDERS, ITEMS], [])


def test_a_replay_that_published_meanwhile_is_not_overwritten():
    with pytest.raises(StepFailed, match="1 messages left the quarantine"):
        refuse_meanwhile(CUT, [], [ORDERS], [("a", 0, 1)])


def quarantined(offset: int, state: str, minute: int, run_id: str = "replay") -> QuarantineRow:
    at = NOW + timedelta(minutes=minute)
    return QuarantineRow("shop", "a", "id", 0, offset, "", "bad", "", state, run_id, at)


def test_messages_left_the_quarantine_if_another_run_said_so_since_then():
    rows = [
        quarantined(1, "replayed", 0),
        quarantined(2, "replayed", 2),
        quarantined(3, "replayed", 2, "own"),
        quarantined(4, "open", 2),
    ]
    assert taken_out(rows, NOW + timedelta(minutes=1), "own") == [("a", 0, 2)]


def test_an_undone_rebuild_puts_back_what_it_took_out_of_the_quarantine():
    rows = [quarantined(1, "replayed", 0, "rebuild"), quarantined(2, "replayed", 0)]
    [row] = put_back(rows, "rebuild", "undo", NOW)
    assert (row.offset, row.state, row.run_id) == (1, "open", "undo")


def test_the_newest_rebuild_is_undone_and_the_cut_before_it_tells_what_was_held():
    rebuilt = replace(CUT, cut_id="00000009", replaced=json.dumps({ORDERS: 1}))
    older = replace(rebuilt, cut_id="00000006")
    after = replace(CUT, cut_id="00000010")
    assert rebuild_to_undo("shop", [older, CUT, rebuilt, after]) == (rebuilt, CUT)
    assert rebuild_to_undo("shop", [older]) == (older, None)
    with pytest.raises(StepFailed, match="no rebuild is published"):
        rebuild_to_undo("shop", [CUT])


def test_a_difference_is_told_with_its_numbers_and_its_first_keys():
    assert Difference(ORDERS, 3, 3).sentence == f"{ORDERS}: equal, 3 rows"
    told = Difference(ORDERS, 3, 4, lost=1, found=2, changed=1, keys=('["1"]', '["2"]')).sentence
    assert told == (
        f'{ORDERS}: 4 of 4 rows differ, 2 come back, 1 change, 1 go: ["1"], ["2"] (first 2)'
    )
    bag = Difference(ORDERS, 3, 2, lost=1).sentence
    assert bag == f"{ORDERS}: 1 of 3 rows differ, 1 go"


def test_the_application_gets_what_is_to_be_rebuilt():
    source = parse_source('connector = "postgresql"\ntopic_prefix = "shop"\n', "shop")
    run = Run(run_id="r", from_step="apply", rebuild=Rebuild(("public.orders", "--x"), undo=True))
    given = arguments(source, run)
    assert given[-4:] == ["--rebuild", "--table=public.orders", "--table=--x", "--undo"]
    assert "--rebuild" not in arguments(source, Run(run_id="r"))


ORDERS_TABLE = TableIdentity(None, "public", "orders")
NUMBER = ValueType(Kind.CAST, "int")
OLD = RowSchema((Column("id", NUMBER, optional=False),))
NEW = RowSchema((*OLD.columns, Column("n", NUMBER, optional=True, default="7")))


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_table_that_is_made_again_is_new_but_for_its_columns(*, is_empty: bool):
    stored = {"id": "int", "n": "int", "gone": "string"}
    facts = TableFacts(ORDERS, stored, Progress(), {}, ("id",), is_empty=is_empty)
    shared = {"topic": "shop.public.orders", "identity": ORDERS_TABLE, "rows": 1}
    groups = [
        group_of(
            **shared, fingerprint=n, first_offset=n, key_fields='["id"]', snapshots_ended=2 - n
        )
        for n in (1, 2)
    ]
    plan = plan_table(ORDERS_TABLE, groups, {1: OLD, 2: NEW}, facts, TableRules())
    assert (plan.columns, plan.key, plan.hold, plan.schema.add) == (stored, ("id",), "", ())
    assert (plan.exists, plan.read_again) == ((not is_empty), (not is_empty))
    # Its rows from before the column was added get the default once more.
    assert list(plan.defaults) == (["n"] if is_empty else [])
