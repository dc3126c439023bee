"""How far a batch goes: offsets, and the newest positions that later events are placed by.

In: the envelopes of a batch, the progress before it. Out: the progress behind it, or behind a part
of it, for a table that stays where a hold begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Row

from lakehouse.connectors import Connector
from lakehouse.plan.epochs import High, Top
from lakehouse.plan.offsets import LandedOffsets
from lakehouse.plan.progress import Progress, replaced
from lakehouse.plan.tables import TopicPartition
from lakehouse.spark.lanes import IS_STREAMED
from lakehouse.spark.sql import any_of, in_partition


def reached(
    envelopes: DataFrame, start: Progress, end: LandedOffsets, connector: Connector
) -> tuple[Progress, str]:
    """The progress behind a batch, and its highest position; empty text for none.

    Args:
        envelopes: The batch, with positions.
        start: The progress before it.
        end: Where it ends.
        connector: Says what later events need.
    """
    rows = _newest(envelopes)
    position = max((row["position"] or "" for row in rows), default="")
    return _raised(Progress(end, start.highs, start.tops), rows, connector), position


def reached_below(
    envelopes: DataFrame,
    start: Progress,
    end: LandedOffsets,
    limits: Mapping[TopicPartition, int],
    connector: Connector,
) -> Progress:
    """The progress of the topic partitions that a hold keeps back, behind what is before it.

    What is behind the hold is read again once it ends: it must not place what is before it.

    Args:
        envelopes: The batch, with positions.
        start: The progress before it.
        end: Where it ends.
        limits: Topic partition → first offset that is kept back.
        connector: Says what later events need.
    """
    before = start.narrowed(replaced(end, limits))
    if not (connector.gtids or connector.commit_may_be_null):
        return before
    is_before = any_of(
        f"{in_partition(place)} AND offset < {limit}" for place, limit in sorted(limits.items())
    )
    return _raised(before, _newest(envelopes.where(is_before)), connector)


def _newest(envelopes: DataFrame) -> list[Row]:
    return (
        envelopes.groupBy("topic", "partition")
        .agg(
            F.expr("max(if(high IS NULL, NULL, struct(log, high))) AS high"),
            F.max("position").alias("position"),
            F.expr(f"max(if({IS_STREAMED}, struct(position, gtid), NULL)) AS top"),
        )
        .collect()
    )


def _raised(start: Progress, rows: Iterable[Row], connector: Connector) -> Progress:
    highs, tops = dict(start.highs), dict(start.tops)
    for row in rows:
        place = (row["topic"], row["partition"])
        if row["high"] is not None and connector.commit_may_be_null:
            high = High(row["high"]["log"], int(row["high"]["high"]))
            highs[place] = max(highs.get(place, high), high)
        if row["top"] is not None and (connector.gtids or connector.commit_may_be_null):
            new = Top(**row["top"].asDict())
            tops[place] = max(tops.get(place, new), new, key=lambda top: top.position)
    return Progress(start.offsets, highs, tops)
