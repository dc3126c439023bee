"""The greatest value before a row, as a plain loop finds it."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from lakehouse.spark.ordering import maxima
from lakehouse.spark.ordering.maxima import with_greatest_before

_COLUMNS = "topic string, partition int, log string, offset bigint, text string, asks boolean"


@pytest.mark.parametrize("asking", [0.0, 0.02, 1.0], ids=["none", "few", "all"])
@pytest.mark.parametrize("block", [1, 7, 4096])
def test_the_greatest_before_is_found_in_blocks(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, block: int, asking: float
) -> None:
    monkeypatch.setattr(maxima, "_BLOCK", block)
    drawn = random.Random(block)
    rows = [
        (topic, partition, log, offset, text, drawn.random() < asking)
        for topic in ("a", "b")
        for partition in (0, 1)
        # A topic partition has gaps, and its log changes.
        for offset in range(3, 150, 1 + partition)
        for log in ["" if offset < 70 else None]
        for text in [f"{drawn.randrange(1000):04}" if drawn.random() < 0.5 else None]
    ]
    drawn.shuffle(rows)
    frame = spark.createDataFrame(rows, _COLUMNS)
    found = with_greatest_before(frame, "asks", "text", "before").collect()
    told = {tuple(row)[:4]: row["before"] for row in found}
    assert len(found) == len(told) == len(rows)
    for topic, partition, log, offset, _, asks in rows:
        before = [r[4] for r in rows if r[:3] == (topic, partition, log) and r[3] < offset and r[4]]
        expected = max(before, default=None) if asks else None
        assert told[topic, partition, log, offset] == expected, (topic, partition, log, offset)
