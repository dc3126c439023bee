"""Which rows the messages of an interval touch, so that these alone are made again.

In: an open batch and an interval of time. Out: the envelopes of its messages; for each table the
keys of their rows, as a global view that the sessions of all tables see.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.remaking.backfilling import Interval
from lakehouse.spark.batches.batch import Batch
from lakehouse.spark.decoding.events import table_rows
from lakehouse.spark.once import once
from lakehouse.spark.staging.writing import Work

_PLACE = ("topic", "partition", "offset")


def is_inside(interval: Interval) -> str:
    """Whether a bronze row's message is of the interval."""
    start, end = interval.milliseconds
    return f"timestamp >= timestamp_millis({start}) AND timestamp < timestamp_millis({end})"


def of_interval(batch: Batch, interval: Interval) -> DataFrame:
    """The envelopes of an interval's messages."""
    inside = batch.messages.where(is_inside(interval)).select(*_PLACE)
    return once(batch.envelopes.join(inside, list(_PLACE), "left_semi"))


def touched_keys(envelopes: DataFrame, plan: TablePlan, secret: bytes) -> DataFrame:
    """`row_key` of the rows of a table that envelopes change, once each.

    It is NULL where some event has no key that can be read.
    """
    return table_rows(envelopes, plan, secret).select("row_key").distinct()


def only_touched(work: Work, rows: DataFrame) -> DataFrame:
    """Those of a table's events whose rows are made."""
    if not work.touched:
        return rows
    keys = work.spark.table(f"global_temp.{work.touched}")
    is_same = F.col("r.row_key").eqNullSafe(F.col("k.row_key"))
    return rows.alias("r").join(keys.alias("k"), is_same, "left_semi")
