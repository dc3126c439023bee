"""What a landing staged, counted: it is published when it has each offset once.

In: a branch of bronze. Out: the messages of one landing by topic partition.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.spark.bronze.appended import appends, before_branch
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.tables import full_name

_COUNTED = ("topic", "partition", "messages", "first", "last", "newest_ms")
# Whoever sends a message may stamp it with any time; pages show years up to 9999.
_LATEST_MS = 253_402_300_799_000


@dataclass(frozen=True, slots=True)
class PartitionCount:
    """What one landing added for one topic partition.

    Attributes:
        newest_ms: The newest timestamp of a message, in milliseconds since the epoch.
    """

    topic: str
    partition: int
    messages: int
    first: int
    last: int
    newest_ms: int | None = None


def staged_counts(
    spark: SparkSession, bronze: Bronze, branch: str, run_id: str, landed_at: datetime
) -> tuple[PartitionCount, ...]:
    """What one landing staged on a branch, by topic partition."""
    mine = (F.col("landed_at") == F.lit(landed_at)) & (F.col("run_id") == F.lit(run_id))
    after = before_branch(bronze, branch)
    # The snapshot is the branch's head: a scan of what was appended has no branch in its name.
    options = appends(after, bronze.head(branch))
    table = full_name(bronze.table, None if options else branch)
    rows = (
        spark.read.options(**options)
        .table(table)
        .where(mine)
        .groupBy("topic", "partition")
        .agg(
            F.count("*").alias("messages"),
            F.min("offset").alias("first"),
            F.max("offset").alias("last"),
            F.expr(f"max(least(unix_millis(timestamp), {_LATEST_MS}L))").alias("newest_ms"),
        )
        .collect()
    )
    return tuple(
        sorted(
            (PartitionCount(*(row[name] for name in _COUNTED)) for row in rows),
            key=lambda count: (count.topic, count.partition),
        )
    )
