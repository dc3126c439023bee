"""Events without a commit position: their place in the order, and their redeliveries.

In: envelopes in which `running` marks events of the first transaction after a connector's start,
which carry no commit position (PostgreSQL, `design.md` §3). Out: the same rows with a position,
and `redelivered` set where the event is in bronze already. The highest number seen before in the
topic partition, at least the event's own, stands in for the commit part.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, Window

from lakehouse.connectors import Connector
from lakehouse.plan.progress import Progress
from lakehouse.spark import positions

_PLACE = ("topic", "partition")
_EVENT = (*_PLACE, "key", "op", "source_transaction", "source_lsn")


def place_running(
    envelopes: DataFrame, history: DataFrame | None, progress: Progress, connector: Connector
) -> DataFrame:
    """Give running events a position and mark those that are in bronze already.

    Args:
        envelopes: The batch.
        history: Parsed envelopes of the running events' topic partitions before the batch, at
            least of the same keys; None when the batch has no running event.
        progress: Has the highest numbers before the batch.
        connector: Its position fields.
    """
    if history is None:
        return envelopes.withColumn("redelivered", F.lit(False))
    before = (
        Window.partitionBy(*_PLACE).orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    )
    seen = F.greatest(F.max("high").over(before), _carried(progress), F.col("high"))
    first, second = connector.position
    placed = F.concat(
        positions.fixed_width(seen.cast("decimal(38,0)").cast("string"), first),
        F.lit(positions.SEPARATOR),
        positions.fixed_width(F.col("high").cast("decimal(38,0)").cast("string"), second),
    )
    rows = envelopes.withColumn(
        "position", F.when(F.col("running"), placed).otherwise(F.col("position"))
    )
    return _mark(rows, history)


def _mark(rows: DataFrame, history: DataFrame) -> DataFrame:
    """Mark events of which the same one stands at a lower offset of the topic partition."""
    candidates = rows.where("running").select(*_EVENT, "offset")
    events = ("topic", "partition", "offset", *_EVENT[2:])
    earlier = history.select(*events).unionByName(rows.select(*events))
    older = earlier.select(*_EVENT, F.col("offset").alias("older"))
    same = [F.col(f"c.{name}").eqNullSafe(F.col(f"o.{name}")) for name in _EVENT]
    condition = same[0]
    for term in same[1:]:
        condition = condition & term
    repeated = (
        candidates.alias("c")
        .join(older.alias("o"), condition & (F.col("o.older") < F.col("c.offset")), "left_semi")
        .select("topic", "partition", "offset", F.lit(True).alias("redelivered"))
    )
    return rows.join(repeated, ["topic", "partition", "offset"], "left").withColumn(
        "redelivered", F.coalesce("redelivered", F.lit(False))
    )


def _carried(progress: Progress) -> Column:
    value = F.lit(None).cast("decimal(38,0)")
    for (topic, partition), high in progress.highs.items():
        here = (F.col("topic") == topic) & (F.col("partition") == partition)
        value = F.when(here, F.lit(str(high)).cast("decimal(38,0)")).otherwise(value)
    return value
