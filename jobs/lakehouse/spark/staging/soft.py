"""Soft delete: a deleted row stays in silver as it was last, its `_cdc.op` says `d`.

In: the winners of a batch and its truncates. Out: the winners with the rows that are marked.
Of a row that was never seen nothing can stay: it leaves a delete mark, as with `hard`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from lakehouse.envelope import DELETE
from lakehouse.spark.decoding.truncates import Truncate, end_of
from lakehouse.spark.sql import literal

# What of a winner says where it comes from; a truncate says it of the rows that it ends.
_PLACE = ("op", "position", "source_ts_ms", "topic", "partition", "offset")


def keep_deleted(folded: DataFrame, truncates: Sequence[Truncate]) -> DataFrame:
    """The winners, those that were deleted or truncated with their last image.

    Args:
        folded: From `collapse.winners`, with `last_image`.
        truncates: Those of the batch, oldest first.
    """
    rest = [name for name in folded.columns if name not in (*_PLACE, "image", "kept")]
    ended = folded
    if truncates:
        newest = literal(truncates[-1].position)
        is_truncated = f"NOT kept AND op != {literal(DELETE)} AND position <= {newest}"
        end = end_of(truncates, "t.position >= position")
        ended = folded.selectExpr("*", f"if({is_truncated}, {end}, NULL) AS t").selectExpr(
            *rest,
            "image",
            "kept",
            *(f"if(t IS NULL, {name}, t.{name}) AS {name}" for name in _PLACE),
        )
    return ended.selectExpr(
        *rest,
        *_PLACE,
        "if(kept, image, last_image) AS image",
        "kept OR last_image IS NOT NULL AS kept",
    )
