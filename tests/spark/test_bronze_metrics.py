"""The metrics of the suite `bronze`, over small tables of landed messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from expectations import SUITES
from lakehouse.quality.judgement import Finding, Verdict, judge, verdict_of
from lakehouse.quality.measuring.landed import LandedRanges, landed_ranges
from lakehouse.quality.measuring.metrics import Scope, measure
from lakehouse.quality.measuring.samples import find_samples
from lakehouse.spark.sql import messages_query
from tests.spark.quality_findings import failed, observed
from tests.spark.quality_tables import STARTED, land_row, run_row, topic_of, write_bronze


def bronze_findings(
    spark: SparkSession, source: str, messages: Sequence[tuple[str | None, int, int | None]]
) -> tuple[LandedRanges, tuple[Finding, ...]]:
    write_bronze(spark, source, messages)
    rows = [
        land_row(source, ["a"], 100, "earlier", 1),
        # At minute 9: what it landed is judged.
        run_row(source, "validate", "earlier", {}),
        replace(
            land_row(source, ["a"], 200, "run", 5),
            counts=json.dumps({"topics": {topic_of(source, "a"): {"0": 3}}}),
        ),
    ]
    landed = landed_ranges(rows, "run", STARTED)
    _, bronze = measure(spark, source, (), landed)
    return landed, judge(SUITES["bronze"], bronze).findings


def bronze_failed(
    spark: SparkSession, source: str, messages: Sequence[tuple[str | None, int, int | None]]
) -> set[str]:
    _, findings = bronze_findings(spark, source, messages)
    # None of the ranges has a message for each offset.
    return failed(findings) - {"no_missing_offsets"}


BRONZE = {
    "good": ([100, 120, 199], set()),
    "an offset twice": (
        [100, 120, 120, 199],
        {"no_duplicate_offsets", "messages_equals_messages_landed"},
    ),
    "a message before the range": ([99, 120, 199], {"range_start_within_first_offset"}),
    "a message behind the range": ([100, 120, 200], {"next_offset_within_range_end"}),
    "a message too few": ([100, 199], {"messages_equals_messages_landed"}),
    "no timestamp": ([100, 150, 199], {"no_missing_timestamps"}),
    "a time to come": ([100, 151, 199], {"no_future_timestamps"}),
    "a time long gone": ([100, 152, 199], {"no_ancient_timestamps"}),
}


@pytest.mark.parametrize("case", BRONZE)
def test_faults_of_landed_messages_are_found(spark: SparkSession, case: str) -> None:
    numbers, rules = BRONZE[case]
    source = f"q_bronze_{list(BRONZE).index(case)}"
    topic = topic_of(source, "a")

    assert bronze_failed(spark, source, [(topic, 0, number) for number in numbers]) == rules


def test_offsets_without_a_message_are_told_and_are_no_fault(spark: SparkSession) -> None:
    topic = topic_of("q_bronze_gaps", "a")

    _, findings = bronze_findings(spark, "q_bronze_gaps", [(topic, 0, n) for n in (100, 103, 199)])

    assert observed(findings, "no_missing_offsets")["missing_offsets"] == 97
    assert verdict_of(findings) is Verdict.PASSED


def test_landed_messages_that_fail_are_named_and_their_query_finds_them(
    spark: SparkSession,
) -> None:
    source = "q_bronze_named"
    topic = topic_of(source, "a")
    numbers = [99, 100, 120, 120, 150, 200]
    landed, findings = bronze_findings(spark, source, [(topic, 0, n) for n in numbers])

    samples = find_samples(spark, source, (), landed, findings, Scope.CHANGE)

    places = {
        rule: [place for row in rows for place in row.messages]
        for (_, rule), rows in samples.items()
    }
    assert places == {
        "no_duplicate_offsets": [(topic, 0, 120)],
        "range_start_within_first_offset": [(topic, 0, 99)],
        "next_offset_within_range_end": [(topic, 0, 200)],
        "no_missing_timestamps": [(topic, 0, 150)],
    }
    shown = spark.sql(messages_query(source, places["no_duplicate_offsets"])).collect()
    # All of them have one event key.
    assert [row["offset"] for row in shown] == sorted(numbers)


def test_a_message_without_a_topic_is_found(spark: SparkSession) -> None:
    topic = topic_of("q_bronze_null", "a")
    messages = [(topic, 0, 100), (topic, 0, 110), (topic, 0, 120), (None, 0, 5)]

    assert "no_missing_coordinates" in bronze_failed(spark, "q_bronze_null", messages)
