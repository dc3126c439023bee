"""The tables of a batch staged, several at once, and how far the batch goes.

In: an open batch and its plans. Out: a `Staged` value for each table, the progress of the source
once the batch is published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyspark.sql.functions as F

from lakehouse.config import mask_secret
from lakehouse.plan.epochs import High, Top
from lakehouse.plan.progress import Progress
from lakehouse.plan.tables import TablePlan
from lakehouse.spark.lanes import IS_STREAMED
from lakehouse.spark.stage import Staged, stage_table
from lakehouse.spark.writing import Work
from lakehouse.steps.applying import Applying, commit_summary

# Tables that are staged at once; each has few Spark jobs and many small waits.
_WORKERS = 4


def stage_all(
    work: Applying, plans: Sequence[TablePlan], touched: Mapping[str, str] | None = None
) -> dict[str, Staged]:
    """Stage the tables, several at once, each in a session of its own.

    Args:
        work: The open batch.
        plans: Those of its tables that are staged.
        touched: Silver table → the global view of the rows that are made; of the others all are.
    """
    views = touched or {}
    stage = partial(_stage, work)
    of_plans = [views.get(plan.silver, "") for plan in plans]
    work.batch.envelopes.createOrReplaceGlobalTempView(_view(work))
    try:
        with ThreadPoolExecutor(_WORKERS) as pool:
            staged = list(pool.map(stage, plans, of_plans))
    finally:
        work.context.spark.catalog.dropGlobalTempView(_view(work))
    return {plan.silver: result for plan, result in zip(plans, staged, strict=True)}


def _stage(work: Applying, plan: TablePlan, touched: str) -> Staged:
    session = work.context.spark.newSession()
    summary = commit_summary(work.context, work.token, work.cut_id, work.batch.end.to_json())
    envelopes = session.table(f"global_temp.{_view(work)}")
    return stage_table(
        Work(
            session,
            work.context.ledger.catalog,
            plan,
            work.branch,
            summary,
            work.check,
            work.batch.size,
            mask_secret(work.context.source),
            replay=work.context.replay,
            touched=touched,
        ),
        envelopes,
    )


def _view(work: Applying) -> str:
    return f"envelopes_{work.token}_{re.sub(r'[^a-z0-9]', '_', work.context.source.name)}"


def highs(work: Applying) -> tuple[Progress, str]:
    """The progress once the batch is published, and its highest position."""
    rows = (
        work.batch.envelopes.groupBy("topic", "partition")
        .agg(
            F.expr("max(if(high IS NULL, NULL, struct(log, high))) AS high"),
            F.max("position").alias("position"),
            F.expr(f"max(if({IS_STREAMED}, struct(position, gtid), NULL)) AS top"),
        )
        .collect()
    )
    known, tops = dict(work.since.progress.highs), dict(work.since.progress.tops)
    for row in rows:
        place = (row["topic"], row["partition"])
        if row["high"] is not None and work.connector.commit_may_be_null:
            new_high = High(row["high"]["log"], int(row["high"]["high"]))
            known[place] = max(known.get(place, new_high), new_high)
        if row["top"] is not None and (work.connector.gtids or work.connector.commit_may_be_null):
            new = Top(**row["top"].asDict())
            tops[place] = max(tops.get(place, new), new, key=lambda top: top.position)
    position = max([work.since.position, *(row["position"] or "" for row in rows)])
    return Progress(work.batch.end, known, tops), position
