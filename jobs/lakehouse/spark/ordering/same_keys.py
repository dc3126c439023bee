"""Messages that have the same keys as events of a batch."""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.spark.broadcasting import sent


def of_same_keys(messages: DataFrame, events: DataFrame, most: int) -> DataFrame:
    """Those of the same topic partition and key; events without a key are alike.

    Args:
        messages: With `topic, partition, key`.
        events: The same.
        most: How many events there are at most.
    """
    keys = events.select("topic", "partition", "key").distinct()
    condition = (
        (F.col("o.topic") == F.col("k.topic"))
        & (F.col("o.partition") == F.col("k.partition"))
        & F.col("o.key").eqNullSafe(F.col("k.key"))
    )
    return messages.alias("o").join(sent(keys.alias("k"), most), condition, "left_semi")
