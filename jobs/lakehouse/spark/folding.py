"""What a batch makes of each key, counted; of a small batch the driver has it then.

In: judged events. Out: the winners and what they amount to, with the keys that quarantined events
hold. A batch that is known to be small is fetched and counted by the driver: one query less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.plan.tables import TablePlan
from lakehouse.spark import collapse, placeholders, tally
from lakehouse.spark.holds import Holds, hold_keys
from lakehouse.spark.once import once
from lakehouse.spark.small_change import Fetched, fetch, fits, is_worth_sizing
from lakehouse.spark.soft import keep_deleted
from lakehouse.spark.tally import Size
from lakehouse.spark.touched import only_touched
from lakehouse.spark.truncates import Truncate
from lakehouse.spark.writing import Work


@dataclass(frozen=True, slots=True)
class Folded:
    """What a batch makes of each key.

    Attributes:
        resolved: Its events, with unchanged large values.
        winners: The last of each key; where deleted rows stay, with these.
        numbers: What they amount to.
        fetched: What it does, where the driver may hold it.
    """

    resolved: DataFrame
    winners: DataFrame
    numbers: Mapping[str, int]
    fetched: Fetched | None


def fold(work: Work, judged: DataFrame, truncates: Sequence[Truncate]) -> tuple[Holds, Folded]:
    """Fold the events of a batch.

    Args:
        work: The table and its branch, with the snapshots that it builds on.
        judged: From `collapse.judge_events`.
        truncates: Those of the batch, oldest first.
    """
    holds, size = _holds(work, judged, truncates)
    return holds, _folded(work, holds, size, truncates)


def _holds(
    work: Work, judged: DataFrame, truncates: Sequence[Truncate]
) -> tuple[Holds, Size | None]:
    """The events with what quarantined ones mean for them, and their size.

    Most batches have no quarantined ones; where some change what others mean, no size is known.
    """
    sized = work.plan if is_worth_sizing(work) else None
    verdicts, size = tally.verdicts(judged, sized)
    if work.plan.is_bag or not (work.plan.held or collapse.QUARANTINED in verdicts):
        return Holds(judged, verdicts), size
    holds = hold_keys(work.spark, work.plan, judged, truncates)
    verdicts, size = tally.verdicts(holds.events)
    return replace(holds, verdicts=verdicts), size


def _folded(work: Work, holds: Holds, size: Size | None, truncates: Sequence[Truncate]) -> Folded:
    plan, is_plain = work.plan, not (truncates or holds.changed)
    resolved = _resolved(holds.events, plan)
    resolved = only_touched(work, resolved) if plan.placeholders else resolved
    winners = _winners(resolved, plan, truncates)
    if is_plain and size is not None and fits(work, size):
        fetched = fetch(work, winners)
        if not fetched.numbers["shifted"]:
            return Folded(resolved, winners, fetched.numbers, fetched)
    winners = once(winners)
    numbers = tally.numbers(winners, plan)
    if numbers["shifted"]:
        resolved = once(collapse.unshifted(resolved, winners))
        winners = once(_winners(resolved, plan, truncates))
        numbers = tally.numbers(winners, plan)
    keys = Size(numbers["keys"], numbers["octets"])
    is_fetched = is_plain and keys.rows and fits(work, keys)
    return Folded(resolved, winners, numbers, fetch(work, winners) if is_fetched else None)


def _winners(resolved: DataFrame, plan: TablePlan, truncates: Sequence[Truncate]) -> DataFrame:
    newest = truncates[-1].position if truncates else ""
    folded = collapse.winners(resolved, newest, plan)
    return keep_deleted(folded, truncates) if plan.soft else folded


def _resolved(judged: DataFrame, plan: TablePlan) -> DataFrame:
    """With unchanged large values; a row of a bag has its own in the image before."""
    if plan.history:
        judged = judged.withColumn("lacked", F.col("unavailable"))
    if not plan.placeholders or plan.is_bag:
        return judged
    return placeholders.resolve(judged, list(plan.columns))
