"""The schema history topic in bronze: its records as text, from the first one on."""

from __future__ import annotations

from collections.abc import Sequence

import pyspark.sql.functions as F
from pyspark.sql import Row, SparkSession

from lakehouse.config import SourceConfig
from lakehouse.plan.offsets import LandedOffsets
from lakehouse.plan.progress import Progress
from lakehouse.spark.envelopes import read_slice

# A source has a record for each statement of its whole life.
MAX_RECORDS = 50_000


def read_history(
    spark: SparkSession, source: SourceConfig, landed: LandedOffsets
) -> tuple[Sequence[Row], bool]:
    """The newest records, in order, and whether they are all that there are.

    Returns:
        `topic, partition, offset, keyed, document`: `document` is None where the value is no text.
    """
    topic = source.kafka.schema_history or ""
    mine = LandedOffsets({topic: landed.topics[topic]})
    text = F.col("value").cast("string")
    rows = (
        read_slice(spark, source, Progress(), mine)
        .select(
            "topic",
            "partition",
            "offset",
            F.col("key").isNotNull().alias("keyed"),
            F.when(F.is_valid_utf8(text), text).alias("document"),
        )
        .orderBy(F.col("offset").desc())
        .limit(MAX_RECORDS + 1)
        .collect()
    )
    return sorted(rows[:MAX_RECORDS], key=lambda row: (row[1], row[2])), len(rows) <= MAX_RECORDS
