"""New logs: a batch whose positions fall because another log of the source begins in it.

In: the envelopes of a batch, what is known before it. Out: the envelopes with
positions in their epochs, the epochs with those that begin in the batch, and what falls for no
known reason (`design.md` §3, Epochs).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.once import once
from lakehouse.spark.ordering.epoch_start import find_epoch
from lakehouse.spark.ordering.lanes import in_lanes
from lakehouse.spark.ordering.late_lanes import late_places, with_late_starts
from lakehouse.spark.ordering.redelivery import repeated
from lakehouse.spark.ordering.since import Since, earlier, earlier_of_same_keys
from lakehouse.spark.parsing.epochs import in_logs, is_known, server_of
from lakehouse.spark.sql import literal

_PLACE = ["topic", "partition", "offset"]
_FINDINGS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Followed:
    """A batch whose logs are known.

    Attributes:
        envelopes: The batch, positions in their epochs.
        since: What is known before it, with the epochs that begin in it.
        findings: Where positions fall for no known reason.
    """

    envelopes: DataFrame
    since: Since
    findings: tuple[str, ...] = ()


def follow_logs(
    spark: SparkSession,
    source: SourceConfig,
    since: Since,
    landed: LandedOffsets,
    parsed: DataFrame,
    named: Callable[[DataFrame], DataFrame] = lambda envelopes: envelopes,
) -> Followed:
    """Look for the new logs that begin in a batch, one after another.

    Args:
        spark: The session.
        source: Says what raises an epoch.
        since: What is known before the batch.
        landed: How far bronze goes.
        parsed: The envelopes of the batch in the epochs that are known before it; they are read
            many times.
        named: Gives them the names of today, which follow from positions.
    """
    if not CONNECTORS[source.connector].gtids:
        return Followed(named(parsed), since)
    if late := late_places(since.epochs, since.progress, landed):
        lanes = in_lanes(named(parsed), source, since)
        tops, before = since.progress.tops, partial(earlier, spark, source, since)
        epochs = with_late_starts(since.epochs, late, lanes, tops, before)
        if epochs != since.epochs:
            since = replace(since, epochs=epochs)
            parsed = once(in_logs(parsed, epochs))
    while True:
        envelopes = named(parsed)
        lanes = in_lanes(envelopes, source, since)
        fallen = _fallen(spark, source, since, envelopes, lanes)
        if fallen is None:
            return Followed(envelopes, since)
        epoch = None
        if source.epoch == "gtid":
            history = earlier(spark, source, since)
            epoch = find_epoch(envelopes, lanes, fallen, history, landed)
        if epoch is None:
            return Followed(envelopes, since, _findings(fallen))
        since = replace(since, epochs=(*since.epochs, epoch))
        parsed = once(in_logs(parsed, since.epochs))


def _fallen(
    spark: SparkSession,
    source: SourceConfig,
    since: Since,
    envelopes: DataFrame,
    lanes: DataFrame,
) -> DataFrame | None:
    """The events that are lower than what came before, and never came before; None for none."""
    falls = lanes.where(_falls(since))
    rows = falls.groupBy("topic", "partition").agg(F.count("*").alias("events")).collect()
    if not rows:
        return None
    places = [(row["topic"], row["partition"]) for row in rows]
    events = envelopes.join(falls.select(*_PLACE), _PLACE, "left_semi")
    most = sum(row["events"] for row in rows)
    older = earlier_of_same_keys(spark, source, since, events, places, most)
    known = repeated(events, older.unionByName(envelopes), CONNECTORS[source.connector])
    fallen = once(falls.join(known, _PLACE, "left_anti"))
    return None if fallen.isEmpty() else fallen


def _falls(since: Since) -> str:
    """Whether an event is below its lane's top, and not one of an older log.

    A snapshot, and a server that is new, may begin where nothing was streamed: they are compared
    with anything that was read before. An incremental one goes on from below behind a restart: what
    it reads counts where its server is new. What an earlier run left behind was looked at then.
    """
    known = since.epochs[-1].known if since.epochs else {}
    servers = sorted({top.server for top in since.progress.tops.values()} | {""})
    listed = ", ".join(map(literal, servers))
    is_new = f"coalesce({server_of('gtid')}, '') NOT IN ({listed})"
    is_below = (
        f"((NOT increments OR {is_new}) AND position < top.position) OR "
        f"((reads OR {is_new}) AND position < read)"
    )
    return f"({is_below}) AND NOT ({is_known(known, 'gtid')}) AND NOT ({since.left_behind})"


def _findings(fallen: DataFrame) -> tuple[str, ...]:
    """Where positions fall in a topic partition, for a person."""
    rows = (
        fallen.where("NOT increments AND (position < top.position OR reads)")
        .groupBy("topic", "partition")
        .agg(
            F.min("offset").alias("offset"),
            F.min_by("position", "offset").alias("position"),
            F.expr("min_by(greatest(top.position, read), offset) AS top"),
        )
        .orderBy("topic", "partition")
        .limit(_FINDINGS_SHOWN)
        .collect()
    )
    return tuple(
        f"{row['topic']}[{row['partition']}]: from offset {row['offset']} on, at the position "
        f"{row['position']}, events are below {row['top']} and no GTID tells a new log: they count "
        "as older than what is above; if the source has a new log, give "
        "the time from which on it is captured as new_logs in the TOML file, and read its tables "
        "again with an incremental snapshot"
        for row in rows
    )
