"""How far a batch goes: offsets, and the newest positions that later events are placed by.

In: the profile of a batch, the progress before it. Out: the progress behind it, or behind a part of
it, for a table that stays where a hold begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import DataFrame

from lakehouse.connectors import Connector
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.plan.progress import Progress, replaced
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.batches.profile import profile
from lakehouse.spark.sql import any_of, in_partition


def reached(
    groups: Sequence[Group], start: Progress, end: LandedOffsets, connector: Connector
) -> tuple[Progress, str]:
    """The progress behind a batch, and its highest position; empty text for none.

    Args:
        groups: The profile of the batch.
        start: The progress before it.
        end: Where it ends.
        connector: Says what later events need.
    """
    position = max((group.last_position or "" for group in groups), default="")
    return _raised(Progress(end, start.highs, start.tops), groups, connector), position


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
    return _raised(before, profile(envelopes.where(is_before)), connector)


def _raised(start: Progress, groups: Iterable[Group], connector: Connector) -> Progress:
    highs, tops = dict(start.highs), dict(start.tops)
    for group in groups:
        place = (group.topic, group.partition)
        if group.high is not None and connector.commit_may_be_null:
            highs[place] = max(highs.get(place, group.high), group.high)
        if group.top is not None and (connector.gtids or connector.commit_may_be_null):
            newest = tops.get(place, group.top)
            tops[place] = max(newest, group.top, key=lambda top: top.position)
    return Progress(start.offsets, highs, tops)
