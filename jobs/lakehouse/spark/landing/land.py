"""Landing: messages of a plan into bronze, each exactly once, also when two runs race.

In: a function that plans from landed offsets, one that reads the planned messages. Out: one
commit on `main`. The messages are staged on a branch that starts at `main`; the plan is made from
the offsets of that branch, so that the two cannot disagree; `main` is fast-forwarded, which is
refused when it moved meanwhile. Then the branch is dropped and all is done again.
"""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.errors import LandingRefused, MainMoved
from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.topics.landing import LandingPlan
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.branches import create_branch, drop_branch, fast_forward
from lakehouse.spark.bronze.landed_counts import PartitionCount, staged_counts
from lakehouse.spark.bronze.lost_offsets import lost_property
from lakehouse.spark.bronze.schema import SCHEMA
from lakehouse.spark.bronze.table import (
    BATCH_ID_PROPERTY,
    OFFSETS_PROPERTY,
    RUN_ID_PROPERTY,
    Bronze,
)
from lakehouse.spark.commits import FAILURES
from lakehouse.spark.session import tune
from lakehouse.spark.tables import append_nothing, append_on_branch

MAX_TRIES = 10
_LOG = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Landing:
    """What to land.

    Attributes:
        plan: Plans from landed offsets; called again when another run has landed meanwhile.
        read: The planned messages: the columns of bronze up to `headers`, each topic partition's in
            the order of their offsets, as many frame partitions as files are to be written.
        run_id: Names the run.
        attempt: Counts the run's tries of this step.
        confirm: Refuses what contradicts the messages of a ref that are landed already.
        check: Refuses staged messages that are not all of the plan, where that can be told.
        explain: Raises what a failed read is due to; returns where it cannot tell.
        tries: How often it is staged before it gives up, because `main` moved.
    """

    plan: Callable[[LandedOffsets], LandingPlan]
    read: Callable[[LandingPlan], DataFrame]
    run_id: str
    attempt: int = 1
    confirm: Callable[[str, LandedOffsets], None] = lambda _ref, _landed: None
    check: Callable[[LandingPlan, Iterable[PartitionCount]], None] = lambda _plan, _counts: None
    explain: Callable[[LandingPlan, Exception], None] = lambda _plan, _failure: None
    tries: int = MAX_TRIES


@dataclass(frozen=True, slots=True)
class Landed:
    """What was landed. `snapshot_id` is None when there was nothing new."""

    plan: LandingPlan
    counts: tuple[PartitionCount, ...] = ()
    snapshot_id: int | None = None


def land(spark: SparkSession, bronze: Bronze, landing: Landing) -> Landed:
    """Land until the plan is in bronze.

    Raises:
        LandingRefused: If the plan is refused, or what was read does not fit it.
        MainMoved: If other commits came first every time.
    """
    bronze.create(spark)
    for number in range(1, landing.tries + 1):
        landed = bronze.landed(spark)
        plan = landing.plan(landed)
        if not plan.is_news:
            landing.confirm(MAIN, landed)
            return Landed(plan)
        with _staging_branch(spark, bronze, landing, number) as branch:
            try:
                return _land_once(spark, bronze, landing, branch)
            except MainMoved:
                _LOG.info("main moved while landing", table=bronze.table, attempt=number)
    raise MainMoved(
        f"Table {bronze.table!r}: main moved {landing.tries} times while landing: expected a quiet "
        "moment; nothing was landed, run it again"
    )


def _land_once(spark: SparkSession, bronze: Bronze, landing: Landing, branch: str) -> Landed:
    landed = bronze.landed(spark, branch)
    plan = landing.plan(landed)
    landing.confirm(branch, landed)
    if not plan.is_news:
        return Landed(plan)
    _LOG.info("landing", table=bronze.table, ranges=len(plan.ranges), batch_id=plan.batch_id)
    tune(spark, sum(each.end - each.start for each in plan.ranges))
    landed_at = datetime.now(UTC)
    _stage(spark, bronze, landing, branch, plan, landed_at)
    staged = bronze.head(branch)
    counts = staged_counts(spark, bronze, branch, landing.run_id, landed_at)
    verify(plan, counts)
    landing.check(plan, counts)
    try:
        fast_forward(spark, bronze.table, branch)
    except (MainMoved, *FAILURES):
        # Where an answer was lost and others have landed since, `main` moved on from here.
        if staged is None or not bronze.holds(staged):
            raise
    return Landed(plan, counts, staged)


def _stage(
    spark: SparkSession,
    bronze: Bronze,
    landing: Landing,
    branch: str,
    plan: LandingPlan,
    landed_at: datetime,
) -> None:
    summary = _summary(landing, plan)
    if not plan.ranges:
        append_nothing(spark, bronze.table, branch, summary)
        return
    rows = _bronze_rows(landing, plan, landed_at)
    try:
        append_on_branch(rows, bronze.table, branch, summary)
    except FAILURES as failure:
        landing.explain(plan, failure)
        raise


def verify(plan: LandingPlan, counts: tuple[PartitionCount, ...]) -> None:
    """Check that what was read lies in the planned ranges and cannot hold an offset twice.

    Raises:
        LandingRefused: If it does not; offsets may have gaps, so fewer messages are no fault.
    """
    ranges = {(each.topic, each.partition): each for each in plan.ranges}
    for count in counts:
        planned = ranges.get((count.topic, count.partition))
        if planned is None or not (
            planned.start <= count.first
            and count.last < planned.end
            and count.messages <= planned.end - planned.start
        ):
            raise LandingRefused(
                f"Topic {count.topic!r} partition {count.partition}: read {count.messages} "
                f"messages with offsets {count.first} to {count.last}: expected each offset of "
                f"{planned} at most once; nothing was landed, run it again"
            )


def _bronze_rows(landing: Landing, plan: LandingPlan, landed_at: datetime) -> DataFrame:
    topic_ids = {each.topic: each.topic_id for each in plan.ranges}
    pairs = [F.lit(text) for pair in sorted(topic_ids.items()) for text in pair]
    return landing.read(plan).select(
        *SCHEMA.fieldNames()[:8],
        F.create_map(*pairs)[F.col("topic")].alias("topic_id"),
        F.lit(landed_at).alias("landed_at"),
        F.lit(landing.run_id).alias("run_id"),
    )


def _summary(landing: Landing, plan: LandingPlan) -> dict[str, str]:
    return {
        OFFSETS_PROPERTY: plan.landed.to_json(),
        BATCH_ID_PROPERTY: plan.batch_id,
        RUN_ID_PROPERTY: landing.run_id,
        **lost_property(plan.lost),
    }


@contextlib.contextmanager
def _staging_branch(
    spark: SparkSession, bronze: Bronze, landing: Landing, number: int
) -> Iterator[str]:
    """A branch at `main` that is gone afterwards; its name is this process's alone."""
    run = re.sub(r"[^A-Za-z0-9]", "_", landing.run_id)[:60]
    branch = f"landing_{run}_{landing.attempt}_{number}_{uuid.uuid4().hex[:8]}"
    create_branch(spark, bronze.table, branch)
    try:
        yield branch
    finally:
        with contextlib.suppress(Exception):  # What is left over is dropped by `doctor`.
            drop_branch(spark, bronze.table, branch)
