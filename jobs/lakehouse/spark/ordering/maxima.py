"""The greatest of what stands before a message in its log, found by many tasks.

In: envelopes, and which of them ask. Out: the same with what they asked for. A window over a topic
partition would put all of its messages, as wide as they are, through one task. Blocks of offsets
have their greatest values, few as they are; only rows of blocks in which one asks are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Window

LOG = ("topic", "partition", "log")
# Of so many rows a window of Spark is an array; more are sorted, and spilled
# (spark.sql.windowExec.buffer.in.memory.threshold).
_BLOCK = 4096
_BEFORE = Window.unboundedPreceding, -1


def with_greatest_before(
    envelopes: DataFrame, asks: str, value: str, name: str, within: Sequence[str] = LOG
) -> DataFrame:
    """Envelopes with the greatest value of what stands before them.

    Args:
        envelopes: Kept ones: they are read several times.
        asks: Which of them ask, as a condition.
        value: What is compared, as an expression.
        name: How the new column is called. It is NULL in rows that do not ask, and where nothing
            stands before.
        within: Columns that have to be the same; topic and partition at least.
    """
    places = (*within, "block")
    blocked = envelopes.withColumn("block", F.expr(f"offset div {_BLOCK}"))
    rows = blocked.alias("r").join(
        F.broadcast(_asked(blocked, asks, value, within).alias("b")),
        F.expr(" AND ".join(f"r.{key} <=> b.{key}" for key in places)),
        "left",
    )
    rows = rows.select("r.*", "b.told", F.expr("b.told IS NOT NULL").alias("is_asked"))
    before = Window.partitionBy(*places).orderBy("offset").rowsBetween(*_BEFORE)
    greatest = F.greatest(F.max(F.expr(value)).over(before), F.col("told.value"))
    asked = rows.where("is_asked").withColumn(name, F.when(F.expr(asks), greatest))
    every = rows.where("NOT is_asked").unionByName(asked, allowMissingColumns=True)
    return every.drop("block", "told", "is_asked")


def _asked(blocked: DataFrame, asks: str, value: str, within: Sequence[str]) -> DataFrame:
    """The blocks in which a row asks, and what stands before each of them."""
    blocks = blocked.groupBy(*within, "block").agg(
        F.expr(f"max({value}) AS value"), F.expr(f"bool_or({asks}) AS is_asked")
    )
    before = Window.partitionBy(*within).orderBy("block").rowsBetween(*_BEFORE)
    told = F.struct(F.max("value").over(before).alias("value")).alias("told")
    return blocks.select(*within, "block", told, "is_asked").where("is_asked")
