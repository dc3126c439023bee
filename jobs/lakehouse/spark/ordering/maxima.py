"""The greatest of what stands before a message in its log, found by many tasks.

In: envelopes, and which of them ask. Out: the same with what they asked for. A window over a topic
partition would put all of its messages, as wide as they are, through one task. Blocks of offsets
have their greatest values, few as they are; only rows of blocks in which one asks are exchanged.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Window

_LOG = ("topic", "partition", "log")
_LOG_AND_BLOCK = (*_LOG, "block")
# So many rows a window of Spark holds in an array (`spark.sql.windowExec.buffer.in.memory.
# threshold`); of more it sorts and spills them.
_BLOCK = 4096
_BEFORE = Window.unboundedPreceding, -1


def with_greatest_before(envelopes: DataFrame, asks: str, value: str, name: str) -> DataFrame:
    """Envelopes with the greatest value of what stands before them in their log.

    Args:
        envelopes: Kept ones: they are read several times.
        asks: Which of them ask, as a condition.
        value: What is compared, as an expression.
        name: How the new column is called. It is NULL in rows that do not ask, and where nothing
            stands before.
    """
    blocked = envelopes.withColumn("block", F.expr(f"offset div {_BLOCK}"))
    rows = blocked.alias("r").join(
        F.broadcast(_asked(blocked, asks, value).alias("b")),
        F.expr(" AND ".join(f"r.{key} <=> b.{key}" for key in _LOG_AND_BLOCK)),
        "left",
    )
    rows = rows.select("r.*", "b.told", F.expr("b.told IS NOT NULL").alias("is_asked"))
    within = Window.partitionBy(*_LOG_AND_BLOCK).orderBy("offset").rowsBetween(*_BEFORE)
    greatest = F.greatest(F.max(F.expr(value)).over(within), F.col("told.value"))
    asked = rows.where("is_asked").withColumn(name, F.when(F.expr(asks), greatest))
    others = rows.where("NOT is_asked").withColumn(
        name, F.lit(None).cast(asked.schema[name].dataType)
    )
    return others.unionByName(asked).drop("block", "told", "is_asked")


def _asked(blocked: DataFrame, asks: str, value: str) -> DataFrame:
    """The blocks in which a row asks, and what stands before each of them."""
    blocks = blocked.groupBy(*_LOG_AND_BLOCK).agg(
        F.expr(f"max({value}) AS value"), F.expr(f"bool_or({asks}) AS is_asked")
    )
    before = Window.partitionBy(*_LOG).orderBy("block").rowsBetween(*_BEFORE)
    told = F.struct(F.max("value").over(before).alias("value")).alias("told")
    return blocks.select(*_LOG_AND_BLOCK, told, "is_asked").where("is_asked")
