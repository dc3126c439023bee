"""Which foreign keys can be judged in a cut, and what their rows refer to there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from lakehouse.config import parse_source
from lakehouse.plan.foreign_keys import ForeignKey
from lakehouse.plan.handover import Excluded, StagedCut, StagedTable
from lakehouse.quality.references import with_references
from lakehouse.quality.staged import Reference, Target

OF_PART = ForeignKey("of_part", ("part",), "", "parts", ("id",))


def target(name: str, identity: Sequence[str | None]) -> Target:
    table = StagedTable(
        identity=tuple(identity),
        silver=name,
        state="",
        changed=True,
        snapshot=1,
        state_snapshot=None,
        key=("id",),
        cdc="_cdc",
        rows=7,
        upserts=1,
        deletes=0,
        truncated=False,
    )
    return Target(table, "b", {}, {}, is_new=False)


ORDERS, PARTS = "silver_shop.app__orders", "silver_shop.app__parts"
CUT = StagedCut(
    "b", 1, "00000002", "00000001", "", "", 3, (), {},
    identities={ORDERS: ("app", None, "orders"), PARTS: ("app", None, "parts")},
)  # fmt: skip
KEYS = {("app", "orders"): (OF_PART,)}


def judged(
    cut: StagedCut = CUT,
    keys: Mapping[tuple[str, ...], tuple[ForeignKey, ...]] = KEYS,
    toml: str = "",
    *,
    is_changed: bool = True,
) -> tuple[Reference, ...]:
    changed = [target(ORDERS, ("app", None, "orders"))]
    changed += [target(PARTS, ("app", None, "parts"))] if is_changed else []
    source = parse_source(f'connector = "mysql"\ntopic_prefix = "shop"\n{toml}', "shop")
    return with_references(source, cut, changed, keys, {PARTS: 40}.get)[0].references


def test_a_reference_is_looked_for_where_the_referenced_table_stands_in_the_cut() -> None:
    staged = "lakehouse.`silver_shop`.`app__parts`.`branch_b`"
    assert judged() == (Reference(("part",), PARTS, staged, ("id",), 7),)

    main = "lakehouse.`silver_shop`.`app__parts`"
    assert judged(is_changed=False) == (Reference(("part",), PARTS, main, ("id",), 40),)


def test_a_reference_to_the_primary_key_takes_that_of_a_staged_table() -> None:
    keys = {("app", "orders"): (replace(OF_PART, referenced=()),)}

    assert [each.referenced for each in judged(keys=keys)] == [("id",)]
    assert judged(keys=keys, is_changed=False) == ()


NOT_JUDGED = {
    "no whole transactions": {"cut": replace(CUT, transactions=0)},
    "the other table is held": {
        "cut": replace(CUT, excluded={PARTS: Excluded("00000001", "held", "")})
    },
    "the other table gets another name": {"cut": replace(CUT, moves=((PARTS, "silver_shop.x"),))},
    "the other table is not in silver": {
        "cut": replace(CUT, identities={ORDERS: ("app", None, "orders")})
    },
    "another database": {"keys": {("app", "orders"): (replace(OF_PART, qualifier="other"),)}},
    "a mask here": {"toml": '[tables."app.orders".columns]\npart = { mask = "redact" }\n'},
    "a mask there": {"toml": '[tables."app.parts".columns]\nid = { mask = "redact" }\n'},
}


@pytest.mark.parametrize("case", NOT_JUDGED)
def test_a_reference_is_not_judged_where_nothing_can_be_said(case: str) -> None:
    assert judged(**NOT_JUDGED[case]) == ()


def test_names_of_other_databases_and_of_any_case_are_found() -> None:
    keys = {("app", "orders"): (replace(OF_PART, qualifier="APP", table="Parts"),)}

    assert len(judged(keys=keys)) == 1
