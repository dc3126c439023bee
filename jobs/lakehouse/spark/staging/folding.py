"""What a batch makes of each key, counted; of a small batch the driver has it then.

In: judged events. Out: the winners and what they amount to, with the keys that quarantined events
hold. A batch that is known to be small is fetched and counted by the driver: one query less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.plan.batches.tables import TablePlan
from lakehouse.spark.decoding.truncates import Truncate
from lakehouse.spark.once import once
from lakehouse.spark.staging import collapse, placeholders, tally
from lakehouse.spark.staging.holds import Holds, hold_keys
from lakehouse.spark.staging.small_change import Fetched, fetch, fits, is_small
from lakehouse.spark.staging.soft import keep_deleted
from lakehouse.spark.staging.touched import only_touched
from lakehouse.spark.staging.writing import Work

# In so many topic partitions a key's events are counted each for itself.
_MOST_TALLIED = 4


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
    # Versions, and what is told of a replay, need each event again.
    if is_kept := work.plan.history or work.replay:
        judged = once(judged)
    if _takes_one_look(work.plan, truncates) and (found := _at_once(work, judged)):
        return found
    holds = _holds(work, judged if is_kept else once(judged), truncates)
    return holds, _folded(work, holds, truncates)


def _takes_one_look(plan: TablePlan, truncates: Sequence[Truncate]) -> bool:
    """Whether what a batch does may be known without looking at its events again."""
    # Images there take values from others, in a bag all that is equal is told of, and what holds a
    # key, or ends all rows, decides about other events.
    takes_more = plan.placeholders or plan.soft or plan.is_bag or plan.held or truncates
    return not takes_more and len(plan.places) <= _MOST_TALLIED


def _at_once(work: Work, judged: DataFrame) -> tuple[Holds, Folded] | None:
    """What a batch does, its events computed once; None where they take a second look."""
    plan = work.plan
    tallies = tally.tallies(plan.places)
    resolved = _resolved(judged, plan)
    winners = collapse.winners(resolved, "", plan, tallies)
    fetched = fetch(work, winners, tallies) if is_small(work) else None
    if fetched:
        numbers = fetched.numbers
    else:
        winners = once(winners)
        numbers = tally.numbers(winners, plan, tallies)
    verdicts = tally.tallied(numbers, plan.places)
    if collapse.QUARANTINED in verdicts or numbers["shifted"]:
        return None
    winners = winners.where("position IS NOT NULL")
    fetched = fetched or _fetched(work, winners, numbers)
    return Holds(judged, verdicts), Folded(resolved, winners, numbers, fetched)


def _holds(work: Work, judged: DataFrame, truncates: Sequence[Truncate]) -> Holds:
    """The events with what quarantined ones mean for them; most batches have none."""
    verdicts = tally.verdicts(judged)
    if work.plan.is_bag or not (work.plan.held or collapse.QUARANTINED in verdicts):
        return Holds(judged, verdicts)
    holds = hold_keys(work.spark, work.plan, judged, truncates)
    return replace(holds, verdicts=tally.verdicts(holds.events))


def _folded(work: Work, holds: Holds, truncates: Sequence[Truncate]) -> Folded:
    plan = work.plan
    resolved = _resolved(holds.events, plan)
    resolved = only_touched(work, resolved) if plan.placeholders else resolved
    winners = once(_winners(resolved, plan, truncates))
    numbers = tally.numbers(winners, plan)
    if numbers["shifted"]:
        resolved = once(collapse.unshifted(resolved, winners, numbers["shifted"]))
        winners = once(_winners(resolved, plan, truncates))
        numbers = tally.numbers(winners, plan)
    is_plain = not (truncates or holds.changed)
    return Folded(
        resolved, winners, numbers, _fetched(work, winners, numbers) if is_plain else None
    )


def _fetched(work: Work, winners: DataFrame, numbers: Mapping[str, int]) -> Fetched | None:
    """What the batch does, where it is more than nothing and the driver may hold it."""
    is_held = numbers["keys"] and fits(work, numbers["keys"], numbers["octets"])
    return fetch(work, winners) if is_held else None


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
