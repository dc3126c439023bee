"""The events of a batch, judged by what silver has of their keys.

In: a batch's rows. Out: what `collapse.judge_events` makes of them. Of a small batch into a large
table the look-up alone is over many rows: it alone is worth generated code.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.plan.batches.tables import TablePlan
from lakehouse.spark.broadcasting import MOST_SENT
from lakehouse.spark.once import once
from lakehouse.spark.session import are_few, in_tasks, is_one_task, tune
from lakehouse.spark.staging import stored
from lakehouse.spark.staging.collapse import judge_events
from lakehouse.spark.staging.writing import Work


def judge(work: Work, rows: DataFrame, barrier: str, *, before: int, has_state: bool) -> DataFrame:
    """Judge the rows of a batch.

    Args:
        work: The table; its session is left fit for the batch, be the table as large as it may.
        rows: From `events.table_rows`.
        barrier: Position of the newest truncate that is applied already; empty for none.
        before: How many rows the table has.
        has_state: Whether its state table has rows.
    """
    if not (work.has_rows(work.plan.silver) or has_state):
        return _judged(work, rows, stored.nothing_stored(work.spark, work.plan), barrier)
    if are_few(work.spark, before) or not are_few(work.spark, work.messages):
        # A table that one task reads is not asked for the batch's keys alone, nor is any for more
        # of them than are sent to every task.
        is_all = is_one_task(before + work.messages) or work.messages > MOST_SENT
        keys = None if is_all else _keys(rows)
        found = in_tasks(_stored(work, keys, has_state=has_state), before + work.messages)
        return _judged(work, rows, found, barrier)
    tune(work.spark, work.messages)
    rows = once(rows)
    keys = once(_keys(rows))
    tune(work.spark, before)
    # Many tasks read the table; what they find is little.
    found = in_tasks(once(_stored(work, keys, has_state=has_state), eager=True), work.messages)
    tune(work.spark, work.messages)
    return _judged(work, rows, found, barrier)


def _judged(work: Work, rows: DataFrame, found: DataFrame, barrier: str) -> DataFrame:
    # A merge join would sort the batch's rows, which are wide; a hash holds what is stored, and
    # images may be of any size.
    by_key = found if _has_images(work.plan) else found.hint("shuffle_hash")
    return judge_events(rows, by_key, barrier, is_bag=work.plan.is_bag)


def _keys(rows: DataFrame) -> DataFrame:
    return rows.groupBy("row_key").agg(F.expr("first(key) AS key"))


def _stored(work: Work, keys: DataFrame | None, *, has_state: bool) -> DataFrame:
    plan, with_image = work.plan, _has_images(work.plan)
    return stored.stored_state(work.spark, plan, keys, with_image=with_image, has_state=has_state)


def _has_images(plan: TablePlan) -> bool:
    """Whether stored images fill unchanged values, or stay when their row is deleted."""
    return plan.placeholders or plan.soft
