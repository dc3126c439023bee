"""The messages of offset ranges, few or many."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from lakehouse.plan.topics.offsets import OffsetRange
from lakehouse.spark.bronze.ranges import within

HOSTILE = "it's.a\\topic"


@pytest.mark.parametrize("others", [0, 200])
def test_messages_are_those_of_the_ranges_whatever_else_is_asked_for(
    spark: SparkSession, others: int
):
    messages = spark.createDataFrame(
        [
            (topic, partition, offset, topic_id)
            for topic in (HOSTILE, "b")
            for partition in (0, 1)
            for offset in range(4)
            for topic_id in ("old", "new")
        ],
        "topic string, partition int, offset bigint, topic_id string",
    )
    ranges = [OffsetRange(HOSTILE, 0, 1, 3, "new"), OffsetRange("b", 1, 3, 9, "old")]
    ranges += [OffsetRange(f"empty_{number}", 0, 0, 1, "new") for number in range(others)]
    wanted = [(HOSTILE, 0, 1, "new"), (HOSTILE, 0, 2, "new"), ("b", 1, 3, "old")]

    found = [tuple(row) for row in within(messages, ranges).collect()]
    assert sorted(found) == sorted(wanted)
    # An archive's messages say no topic id.
    found = [tuple(row) for row in within(messages.drop("topic_id"), ranges).collect()]
    assert sorted(set(found)) == sorted(place[:3] for place in wanted)


def test_of_no_range_there_is_no_message(spark: SparkSession):
    assert within(spark.range(3).selectExpr("id AS offset"), []).collect() == []
