"""Generations: where a source snapshot begins to read a table, and where it ends.

In: a table's events, or what is landed before them. Out: the newest generation that ends, and the
one before a batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.envelope import READ
from lakehouse.plan.batches.sweeps import ENDS, STARTS, Generation, Marker, newest_generation
from lakehouse.plan.batches.tables import Beginning, SweepRule, TablePlan
from lakehouse.plan.progress import Progress
from lakehouse.spark.bronze.slices import read_slice
from lakehouse.spark.decoding.events import belongs_to
from lakehouse.spark.ordering.since import Since
from lakehouse.spark.parsing.envelopes import parse
from lakehouse.spark.sql import in_partition, literal

_MAX_MARKERS = 10_000
# Parsing is dear; in JSON text there is a marker only where this is.
_MAY_BE_MARKER = rf'"snapshot"\s*:\s*"({"|".join((*STARTS, *ENDS))})"'


def begins_or_ends(markers: Iterable[str]) -> str:
    """Whether an event has one of the markers of a source snapshot."""
    return f"op = {literal(READ)} AND snapshot IN ({', '.join(map(literal, markers))})"


def newest_ended(rows: DataFrame) -> Generation | None:
    """The newest generation that ends among a table's events, which are of one topic partition.

    Args:
        rows: From `events.table_rows`.
    """
    markers = rows.where(begins_or_ends((*STARTS, *ENDS))).select(
        "offset", "snapshot", "position", "topic", "partition", "source_ts_ms"
    )
    newest = markers.orderBy(F.desc("offset")).limit(_MAX_MARKERS).collect()
    return newest_generation(Marker(**row.asDict()) for row in newest)


def with_earlier(
    rule: SweepRule,
    spark: SparkSession,
    source: SourceConfig,
    since: Since,
    plan: TablePlan,
) -> SweepRule:
    """A rule with what the newest generation of the table before a batch says.

    Args:
        rule: What a source snapshot may remove.
        spark: The session.
        source: The source.
        since: Has the logs that the source has had.
        plan: The table, whose events stand in one topic partition.
    """
    [place] = plan.places
    connector = CONNECTORS[source.connector]
    older = read_slice(spark, source, Progress(), plan.start.offsets).where(
        f"{in_partition(place)} AND CAST(value AS string) RLIKE {literal(_MAY_BE_MARKER)}"
    )
    # What was parsed alone knows of no incarnation.
    is_of_table = belongs_to(replace(plan.identity, incarnation=0))
    markers = parse(older, source, connector, [place[0]], since.epochs).where(
        f"{begins_or_ends((*STARTS, *ENDS))} AND position IS NOT NULL AND {is_of_table}"
    )
    newest = markers.select("offset", "snapshot", "position", "unplaced")
    row = newest.orderBy(F.desc("offset")).first()
    if row is None or row["snapshot"] in ENDS:
        return replace(rule, ended=row is not None)
    # What was streamed before it places an unplaced event, and nothing is streamed before its end.
    position = "" if row["unplaced"] else row["position"]
    return replace(rule, begun=Beginning(row["offset"], position))
