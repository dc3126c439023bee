"""What `lakehouse doctor` says of tables whose files are missing, and what mends them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakehouse.inspection.repairing import to_rebuild
from lakehouse.plan.doctor.findings import Promise
from lakehouse.plan.doctor.tables import Repair, Role, TableFacts, judge_tables, repair_of

WHOLE = TableFacts("silver_shop.public__orders", Role.SILVER, title="public.orders")
TORN = replace(WHOLE, error="no JSON", location="2.metadata.json", previous="1.metadata.json")
LACKING = replace(WHOLE, missing=("a.parquet", "b.parquet"), whole=1)


@pytest.mark.parametrize(
    ("facts", "repair"),
    [
        (WHOLE, None),
        (TORN, Repair.POINT_BACK),
        (replace(TORN, previous=""), Repair.NONE),
        (replace(WHOLE, ahead=7), Repair.REBUILD),
        (replace(WHOLE, strayed=7), Repair.REBUILD),
        (LACKING, Repair.REBUILD),
        (replace(LACKING, broken=(3,)), Repair.REBUILD),
        (replace(LACKING, title=""), Repair.NONE),
        (replace(LACKING, role=Role.BRONZE, title="", broken=(3, 2)), Repair.TAKE_BACK),
        (replace(LACKING, role=Role.BRONZE, title="", broken=(1,), whole=None), Repair.NONE),
        (replace(LACKING, role=Role.BRONZE, title=""), Repair.NONE),
    ],
)
def test_nothing_whole_is_given_up_for_what_is_broken(facts: TableFacts, repair: Repair | None):
    assert repair_of(facts) is repair


def test_a_table_that_is_whole_is_no_finding():
    assert judge_tables([WHOLE], "shop") == ()


def test_a_finding_names_the_files_and_the_command():
    many = replace(LACKING, missing=tuple(f"{number}.parquet" for number in range(5)))
    [finding] = judge_tables([many], "shop")
    assert finding.value == "not there or cut off: 0.parquet, 1.parquet, 2.parquet and 2 more"
    assert "lakehouse doctor --source shop --repair" in finding.next_step
    assert "lakehouse rebuild --table public.orders" in finding.next_step
    [torn] = judge_tables([TORN], "shop")
    assert (torn.what, torn.value) == ("metadata 2.metadata.json", "no JSON")
    assert "points the catalog to 1.metadata.json" in torn.next_step


def test_raw_messages_that_are_gone_are_a_loss():
    [finding] = judge_tables([replace(LACKING, role=Role.BRONZE, title="")], "shop")
    assert finding.promise is Promise.NO_LOSS
    assert finding.next_step.startswith("bring the named file back from a backup")


def test_a_rebuild_makes_each_source_table_once():
    state = replace(LACKING, name="silver_shop.public__orders__state")
    assert to_rebuild([LACKING, state, TORN]) == ("public.orders",)
