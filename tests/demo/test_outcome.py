"""The terms of the conservation law are summed, however deep they stand."""

from __future__ import annotations

from infra.demo.outcome import law_holds, law_terms


def test_terms_are_summed_over_topic_partitions_and_reasons():
    counts = {
        "shop.orders": {
            "0": {"landed": 7, "applied": 5, "control": {"tombstone": 1, "heartbeat": 1}},
            "1": {"landed": 2, "pending_before": 1, "applied": 1, "pending_after": {"open": 2}},
        },
        "tables": 4,
    }
    assert law_terms(counts) == {
        "landed": 9,
        "applied": 6,
        "control": 2,
        "pending_before": 1,
        "pending_after": 2,
    }


def test_without_terms_nothing_is_claimed():
    assert law_terms({"messages": 3}) == {}


def test_the_law_has_to_hold_in_each_topic_partition():
    good = {"landed": 3, "applied": 2, "control": 1}
    assert law_holds({"shop.orders[0]": good, "shop.customers[0]": good})
    assert not law_holds(
        {"shop.orders[0]": {**good, "landed": 4}, "shop.customers[0]": {**good, "landed": 2}}
    )
    assert not law_holds({})
