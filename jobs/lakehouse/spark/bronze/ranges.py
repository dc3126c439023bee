"""Messages of offset ranges, in bronze or in an archive."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.plan.topics.offsets import OffsetRange
from lakehouse.spark.sql import any_of, in_offsets, literal

# A condition costs each message a comparison a range; a join costs a few Spark jobs.
_FEW_RANGES = 100


def within(messages: DataFrame, ranges: Sequence[OffsetRange]) -> DataFrame:
    """The messages of offset ranges.

    Messages that say their topic id have to have that of the range.
    """
    has_id = "topic_id" in messages.columns
    if len(ranges) > _FEW_RANGES:
        return _joined(messages, ranges, has_id=has_id)
    return messages.where(
        any_of(
            in_offsets((each.topic, each.partition), each.start, each.end)
            + (f" AND topic_id = {literal(each.topic_id)}" if has_id else "")
            for each in ranges
        )
    )


def _joined(messages: DataFrame, ranges: Sequence[OffsetRange], *, has_id: bool) -> DataFrame:
    wanted = messages.sparkSession.createDataFrame(
        pa.table(
            {
                "topic": pa.array([each.topic for each in ranges], pa.string()),
                "partition": pa.array([each.partition for each in ranges], pa.int32()),
                "start": pa.array([each.start for each in ranges], pa.int64()),
                "end": pa.array([each.end for each in ranges], pa.int64()),
                "owner": pa.array([each.topic_id for each in ranges], pa.string()),
            }
        )
    )
    is_inside = "offset >= start AND offset < `end`" + (" AND topic_id = owner" if has_id else "")
    joined = messages.join(F.broadcast(wanted), ["topic", "partition"])
    return joined.where(is_inside).select(*messages.columns)
