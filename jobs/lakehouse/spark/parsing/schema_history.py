"""The schema history topic in bronze: its records as text, from the first one on."""

from __future__ import annotations

from collections.abc import Sequence

import pyspark.sql.functions as F
from pyspark.sql import Row, SparkSession

from lakehouse.config import SourceConfig
from lakehouse.plan.epochs import Epoch
from lakehouse.plan.progress import Progress
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.bronze.slices import read_slice
from lakehouse.spark.parsing.epochs import log_of

# A source has a record for each statement of its whole life.
MAX_RECORDS = 50_000


def read_history(
    spark: SparkSession,
    source: SourceConfig,
    landed: LandedOffsets,
    epochs: Sequence[Epoch] = (),
) -> tuple[Sequence[Row], bool]:
    """The newest records, in order, and whether they are all that there are.

    Args:
        spark: The session.
        source: Names the topic.
        landed: How far it is landed.
        epochs: The logs that the source has had. A record has no GTID of its own: where its topic
            stood when a log began tells whether it is of that log.

    Returns:
        `topic, partition, offset, keyed, document, log`: `document` is None where the value is no
        text, `log` is what positions of the record's log begin with.
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
            F.expr(log_of(epochs)).alias("log"),
        )
        .orderBy(F.col("offset").desc())
        .limit(MAX_RECORDS + 1)
        .collect()
    )
    return sorted(rows[:MAX_RECORDS], key=lambda row: (row[1], row[2])), len(rows) <= MAX_RECORDS


def has_messages(
    spark: SparkSession, source: SourceConfig, topic: str | None, landed: LandedOffsets
) -> bool:
    """Whether a message of a topic ever landed."""
    if topic is None or topic not in landed.topics:
        return False
    mine = LandedOffsets({topic: landed.topics[topic]})
    return not read_slice(spark, source, Progress(), mine).isEmpty()
