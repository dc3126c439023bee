"""Which foreign keys can be judged in a cut, and what their rows refer to there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lakehouse.config import parse_source
from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.cuts.published import Excluded
from lakehouse.plan.records import CutRow
from lakehouse.plan.schemas.foreign_keys import ForeignKey
from lakehouse.quality.measuring.references import standing_in, with_references
from lakehouse.quality.measuring.staged import Reference, Target

OF_PART = ForeignKey("of_part", ("part",), "", "parts", ("id",))


def table(name: str, identity: Sequence[str | None]) -> StagedTable:
    return StagedTable(
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


ORDERS, PARTS = "silver_shop.app__orders", "silver_shop.app__parts"
STAGED = (table(ORDERS, ("app", None, "orders")), table(PARTS, ("app", None, "parts")))
CUT = StagedCut(
    "b", 1, "00000002", "00000001", "", "", 3, STAGED, {},
    identities={ORDERS: ("app", None, "orders"), PARTS: ("app", None, "parts")},
)  # fmt: skip
BASE = CutRow(
    "shop", "00000001", "published", "run", datetime(2026, 1, 1, tzinfo=UTC), 1, "", "", 0,
    {ORDERS: 11, PARTS: 12}, "", 0, "", "", "",
)  # fmt: skip
KEYS = {("app", "orders"): (OF_PART,)}


def orders_with(
    cut: StagedCut = CUT,
    keys: Mapping[tuple[str, ...], tuple[ForeignKey, ...]] = KEYS,
    toml: str = "",
    *,
    is_changed: bool = True,
    connector: str = "mysql",
) -> Target:
    changed = [Target(each, {}, {}, before=1) for each in STAGED[: 1 + is_changed]]
    source = parse_source(f'connector = "{connector}"\ntopic_prefix = "shop"\n{toml}', "shop")
    counted = {(PARTS, 12): 40}
    standing = standing_in(cut, BASE)
    return with_references(source, standing, changed, keys, lambda *at: counted.get(at))[0]


def judged(
    cut: StagedCut = CUT,
    keys: Mapping[tuple[str, ...], tuple[ForeignKey, ...]] = KEYS,
    *,
    is_changed: bool = True,
    connector: str = "mysql",
) -> tuple[Reference, ...]:
    found = orders_with(cut, keys, is_changed=is_changed, connector=connector)
    assert found.not_judged == ()
    return found.references


def test_a_reference_is_looked_for_where_the_referenced_table_stands_in_the_cut() -> None:
    staged = "lakehouse.`silver_shop`.`app__parts`.`snapshot_id_1`"
    assert judged() == (Reference(("part",), PARTS, staged, ("id",), 7),)

    before = "lakehouse.`silver_shop`.`app__parts`.`snapshot_id_12`"
    assert judged(replace(CUT, tables=()), is_changed=False) == (
        Reference(("part",), PARTS, before, ("id",), 40),
    )


def test_a_reference_to_the_primary_key_takes_that_of_a_staged_table() -> None:
    keys = {("app", "orders"): (replace(OF_PART, referenced=()),)}

    assert [each.referenced for each in judged(keys=keys)] == [("id",)]


def test_a_reference_behind_a_columns_type_is_judged_where_the_source_heeds_it() -> None:
    keys = {("app", "orders"): (replace(OF_PART, is_inline=True, referenced=()),)}

    (reference,) = judged(keys=keys, connector="mariadb")

    assert reference.referenced == ("part",)


ABSENT = "one of both tables does not stand at the end of the cut"
MASKED = "a mask hides what the tables share"
NOT_JUDGED = {
    "the other table is held": (
        {"cut": replace(CUT, excluded={PARTS: Excluded("00000001", "held", "")})},
        ABSENT,
    ),
    "the other table gets another name": (
        {"cut": replace(CUT, moves=((PARTS, "silver_shop.x"),))},
        ABSENT,
    ),
    "the other table is not in silver": (
        {"cut": replace(CUT, identities={ORDERS: ("app", None, "orders")})},
        ABSENT,
    ),
    "another database": (
        {"keys": {("app", "orders"): (replace(OF_PART, qualifier="other"),)}},
        ABSENT,
    ),
    "a mask here": (
        {"toml": '[tables."app.orders".columns]\npart = { mask = "redact" }\n'},
        MASKED,
    ),
    "a mask there": ({"toml": '[tables."app.parts".columns]\nid = { mask = "redact" }\n'}, MASKED),
    "a primary key that no batch tells": (
        {
            "cut": replace(CUT, tables=()),
            "keys": {("app", "orders"): (replace(OF_PART, referenced=()),)},
            "is_changed": False,
        },
        "the key of the other table is not known in this batch",
    ),
    "REFERENCES that MySQL may ignore": (
        {"keys": {("app", "orders"): (replace(OF_PART, is_inline=True),)}},
        "not every version of the source heeds REFERENCES behind a column's type",
    ),
}


@pytest.mark.parametrize("case", NOT_JUDGED)
def test_a_reference_is_not_judged_where_nothing_can_be_said_and_told(case: str) -> None:
    given, reason = NOT_JUDGED[case]

    found = orders_with(**given)

    assert (found.references, found.not_judged) == ((), (f"foreign key part → parts: {reason}",))


def test_names_of_other_databases_and_of_any_case_are_found() -> None:
    keys = {("app", "orders"): (replace(OF_PART, qualifier="APP", table="Parts"),)}

    assert len(judged(keys=keys)) == 1
