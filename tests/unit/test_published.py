"""Which tables of a published cut are judged as a whole, and as what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lakehouse.config import parse_source
from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.records import CutRow, RunRow
from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress
from lakehouse.quality.measuring.published import (
    PublishedTables,
    published_tables,
    published_targets,
)
from lakehouse.quality.measuring.staged import targets

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def table(name: str, snapshot: int, rows: int = 3) -> StagedTable:
    return StagedTable(
        identity=(None, "public", name),
        silver=f"silver_shop.public__{name}",
        state="",
        changed=True,
        snapshot=snapshot,
        state_snapshot=None,
        key=("id",),
        cdc="_cdc",
        rows=rows,
        upserts=1,
        deletes=0,
        truncated=False,
    )


def applied(*tables: StagedTable, status: str = "succeeded") -> RunRow:
    cut = StagedCut("b", 1, "00000001", "", "", "", 0, tables, {})
    return RunRow(
        source="shop",
        run_id="run",
        attempt=1,
        step="apply",
        status=status,
        started_at=NOW,
        ended_at=NOW,
        batch_id="",
        code_hash="",
        config_hash="",
        counts="{}",
        detail=json.dumps(cut.to_detail()),
        message="",
    )


def cut_of(snapshots: Mapping[str, int]) -> CutRow:
    named = {f"silver_shop.public__{name}": number for name, number in snapshots.items()}
    return CutRow(
        source="shop",
        cut_id="00000009",
        state="published",
        run_id="run",
        recorded_at=NOW,
        token=9,
        offsets="",
        position="",
        transactions=0,
        tables=named,
        excluded="",
        held_keys=0,
        identities=json.dumps({name: [None, "public", name] for name in named}),
        renames="",
        moves="",
    )


def test_each_table_is_as_the_run_left_it_that_staged_its_snapshot() -> None:
    rows = [applied(table("a", 1, rows=5), table("b", 2)), applied(table("a", 3, rows=7))]

    assert published_tables(cut_of({"a": 1, "b": 2}), (), rows) == PublishedTables(
        (table("a", 1, rows=5), table("b", 2)), ()
    )


def test_a_renamed_table_is_known_by_its_snapshot() -> None:
    found = published_tables(cut_of({"new": 4}), (), [applied(table("old", 4))])

    assert found.known == (replace(table("old", 4), silver="silver_shop.public__new"),)


def test_a_table_whose_columns_were_renamed_is_known_by_the_snapshot_that_was_staged() -> None:
    cut = cut_of({"a": 5, "b": 2})
    announced = replace(cut_of({"a": 4, "b": 2}), state="pending")

    found = published_tables(cut, (announced, cut), [applied(table("a", 4), table("b", 2))])

    assert found.known == (table("a", 5), table("b", 2))


def test_a_table_that_no_run_tells_of_is_named() -> None:
    rows = [applied(table("a", 1), status="failed"), replace(applied(table("a", 1)), step="land")]

    assert published_tables(cut_of({"a": 1}), (), rows) == PublishedTables(
        (), ("silver_shop.public__a",)
    )


def test_a_retired_table_is_left_out() -> None:
    assert published_tables(cut_of({"a__retired_1": 1}), (), []) == PublishedTables((), ())


def test_a_whole_table_is_judged_by_all_its_rules_and_by_what_was_read_a_day_ago() -> None:
    text = """
    connector = "postgresql"
    topic_prefix = "shop"
    [[tables."public.a".rules]]
    name = "never"
    description = "Never."
    violated = "id < 0"
    [[tables."public.a".rules]]
    name = "seldom"
    description = "Seldom."
    violated = "id > 9"
    at_most = 4
    """
    (target,) = published_targets(parse_source(text, "shop"), [table("a", 1)], {}, NOW)

    assert [(rule.name, rule.most) for rule in target.rules] == [("never", 0), ("seldom", 4)]
    assert target.is_whole
    assert target.settled == NOW - timedelta(days=1)
    assert target.relation == "lakehouse.`silver_shop`.`public__a`.`snapshot_id_1`"


def test_a_batch_is_judged_by_what_its_rows_alone_decide() -> None:
    rules = (
        'violated = "id < 0"',
        'violated = "id < 0"\nat_most_percent = 1.5',
        'violated = "id < 0"\nat_least = 2',
        'unique = ["id"]',
        "rows = true\nat_most = 9",
    )
    text = 'connector = "postgresql"\ntopic_prefix = "shop"\n' + "".join(
        f'[[tables."public.a".rules]]\nname = "r{n}"\ndescription = "A."\n{rule}\n'
        for n, rule in enumerate(rules)
    )
    cut = StagedCut("b", 1, "00000002", "00000001", "", "", 0, (table("a", 7),), {})
    before = cut_of({"a": 4})

    (target,) = targets(parse_source(text, "shop"), cut, before)

    assert [rule.name for rule in target.rules] == ["r0"]
    assert target.relation.endswith("`snapshot_id_7`")
    assert target.published.endswith("`snapshot_id_4`")
    (new,) = targets(parse_source(text, "shop"), cut, None)
    assert new.is_new


def test_rows_of_a_table_that_is_renamed_in_its_batch_are_of_both_topics() -> None:
    source = parse_source('connector = "postgresql"\ntopic_prefix = "shop"\n', "shop")
    topics = {f"shop.public.{name}": TopicProgress("", {0: 2}) for name in ("a", "was", "other")}
    offsets = LandedOffsets(topics).to_json()
    renamed = replace(table("a", 7), topics=("shop.public.a", "shop.public.was"))
    cut = StagedCut("b", 1, "00000001", "", offsets, "", 0, (renamed,), {})

    (target,) = targets(source, cut, None)

    assert target.end == {("shop.public.a", 0): 2, ("shop.public.was", 0): 2}
