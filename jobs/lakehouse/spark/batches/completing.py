"""What only its neighbours tell of an envelope: tombstones, places of read events, redelivery.

In: parsed envelopes and their profile. Out: the same with positions complete, and their profile.
"""

from __future__ import annotations

from functools import partial

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import SourceConfig
from lakehouse.connectors import Connector
from lakehouse.plan.batches.groups import Group, reads_behind_changes
from lakehouse.spark.batches.profile import profile
from lakehouse.spark.once import once
from lakehouse.spark.ordering.redelivery import mark, suspect
from lakehouse.spark.ordering.since import Since, earlier, earlier_of_same_keys
from lakehouse.spark.ordering.stand_ins import place
from lakehouse.spark.ordering.tombstones import without_tombstones
from lakehouse.spark.parsing.reasons import EMPTY_MESSAGE


def complete(
    spark: SparkSession,
    source: SourceConfig,
    connector: Connector,
    read: tuple[DataFrame, tuple[Group, ...]],
    since: Since,
) -> tuple[DataFrame, tuple[Group, ...]]:
    """Envelopes with what only their neighbours tell, and their profile.

    Args:
        spark: The session.
        source: The source.
        connector: Its position fields.
        read: From `parse`, and their profile.
        since: What is known before them.
    """
    parsed, groups = read
    empty = {(group.topic, group.partition) for group in groups if group.reason == EMPTY_MESSAGE}
    if empty:
        before_it = partial(earlier, spark, source, since)
        parsed = once(without_tombstones(parsed, sorted(empty), before_it))
        groups = profile(parsed, since.position)
    progress = since.progress
    places = {(group.topic, group.partition) for group in groups if group.suspects}
    behind = reads_behind_changes(groups, progress.highs)
    places |= behind
    if not places:
        return parsed.withColumn("redelivered", F.lit(False)), groups
    if connector.commit_may_be_null:
        # Its window would run again for every table.
        placed = place(parsed, progress, connector, reads_behind_changes=bool(behind))
        parsed = once(placed)
        groups = profile(parsed, since.position)
    suspects = parsed.where(suspect(since.position))
    most = sum(group.suspects for group in groups)
    history = earlier_of_same_keys(spark, source, since, suspects, places, most)
    return once(mark(parsed, history, connector, since.position, most)), groups
