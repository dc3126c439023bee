"""The terms of the conservation law are summed, however deep they stand."""

from __future__ import annotations

from infra.demo.outcome import law_terms


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
