"""What `lakehouse doctor` finds in topics."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakehouse.config import TopicRole, parse_source
from lakehouse.plan.doctor.findings import Level
from lakehouse.plan.doctor.topics import TopicFacts, judge_topics

SOURCE = parse_source('connector = "mysql"\ntopic_prefix = "shop"\n', "shop")
HOUR = 3_600_000
DATA = TopicFacts("shop.shop.orders", TopicRole.DATA, {0: 10}, {0: 25}, behind_ms=HOUR)


def found(topic: TopicFacts, source=SOURCE) -> list[tuple[str, Level]]:
    return [(f.what, f.level) for f in judge_topics([topic], source)]


def test_nothing_is_found_in_a_topic_that_keeps_everything_until_it_is_landed():
    assert found(DATA) == []
    assert found(replace(DATA, retention_ms=-1, behind_ms=None, landed={})) == []


@pytest.mark.parametrize("policy", ["compact", "compact,delete", "[delete, compact]"])
def test_a_compacted_topic_loses_events(policy):
    assert found(replace(DATA, cleanup_policy=policy)) == [("cleanup.policy", Level.BREAKS)]


def test_several_partitions_break_the_order_of_control_topics_and_are_told_of_data():
    two = replace(DATA, partitions={0: 0, 1: 0})
    assert found(two) == [("partitions", Level.WARNING)]
    for role in (TopicRole.SCHEMA_CHANGE, TopicRole.TRANSACTION):
        assert found(replace(two, role=role)) == [("partitions", Level.BREAKS)]
    assert found(replace(two, role=TopicRole.HEARTBEAT)) == []


def test_offsets_that_kafka_deleted_before_they_were_landed_are_a_loss():
    lost = replace(DATA, partitions={0: 30})
    [finding] = judge_topics([lost], SOURCE)
    assert (finding.level, finding.value) == (Level.BREAKS, "30")
    assert "5 offsets at most" in finding.why
    assert found(replace(DATA, partitions={0: 25})) == []


def test_retention_has_to_be_longer_than_landing_is_behind():
    day = replace(DATA, retention_ms=24 * HOUR)
    assert found(replace(day, behind_ms=11 * HOUR)) == []
    assert found(replace(day, behind_ms=13 * HOUR)) == [("retention.ms", Level.WARNING)]
    assert found(replace(day, behind_ms=24 * HOUR)) == [("retention.ms", Level.BREAKS)]
    assert found(replace(DATA, retention_ms=2 * HOUR, behind_ms=None)) == [
        ("retention.ms", Level.WARNING)
    ]
    assert found(replace(DATA, retention_bytes=10**9)) == [("retention.bytes", Level.WARNING)]


def test_a_schema_history_has_to_stay_for_ever():
    history = replace(DATA, role=TopicRole.SCHEMA_HISTORY)
    assert found(history) == [("retention.ms, retention.bytes", Level.BREAKS)]
    assert found(replace(history, retention_ms=-1)) == []


def test_a_topic_that_the_toml_file_names_and_kafka_lacks_is_told():
    text = 'connector = "mysql"\ntopic_prefix = "shop"\n[kafka]\nschema_history = "history"\n'
    [finding] = judge_topics([DATA], parse_source(text, "shop"))
    assert (finding.subject, finding.value) == ("topic history", "not there")
