"""The metrics of all suites of a run, in one Spark pass over all its tables.

In: the staged tables and the landed ranges. Out: one measurement per silver table and topic
partition. Every table becomes rows of one shape, `subject`, a hash of the event key and counts;
one aggregation by key and one by subject follow. So the number of Spark jobs depends neither on
the number of tables nor on the number of Expectations.

Scope *change* looks at the rows of the batch, and at the keys of these rows in the whole table,
found by a join with the batch's few keys instead of a shuffle of the key column. Scope *full*
looks at every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import reduce

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, Row, SparkSession

from lakehouse.names import bronze_table
from lakehouse.plan.offsets import OffsetRange
from lakehouse.quality.judgement import Measurement
from lakehouse.quality.silver_rows import COUNTS, VERSION, SilverRows, counts
from lakehouse.quality.staged import LandedRanges, Target
from lakehouse.spark.tables import full_name

# More keys than this are not sent to every task: the keys are shuffled instead.
BROADCAST_KEYS = 1_000_000


class Scope(StrEnum):
    """Which rows are looked at: those of the batch with their keys, or all."""

    CHANGE = "change"
    FULL = "full"


def measure_silver(
    spark: SparkSession, targets: Sequence[Target], scope: Scope = Scope.CHANGE
) -> DataFrame | None:
    """The rows of one shape for all staged tables; None when there is none."""
    plans = [SilverRows(spark, target, full=scope is Scope.FULL) for target in targets]
    if not plans:
        return None
    parts = [plan.changed for plan in plans]
    partial = [plan for plan in plans if not plan.reads_all and plan.target.table.key]
    parts += [plan.unkeyed for plan in plans if not plan.reads_all and not plan.target.table.key]
    if partial:
        keys = _union(plan.changed.select("subject", "h1", "h2") for plan in partial).distinct()
        keys = keys.where(F.col("h1").isNotNull())
        if sum(plan.target.table.upserts for plan in partial) <= BROADCAST_KEYS:
            keys = F.broadcast(keys)
        parts.append(_with_keys(_union(plan.staged_keys for plan in partial), keys, "left"))
        parts.append(_with_keys(_union(plan.published_keys for plan in partial), keys, "inner"))
    return _union(parts)


def measure_bronze(spark: SparkSession, source: str, landed: LandedRanges) -> DataFrame | None:
    """The rows of one shape for what a run landed; None when it landed nothing."""
    if not landed.ranges:
        return None
    in_range = reduce(Column.__or__, map(_in_range, landed.ranges))
    own = (F.col("run_id") == landed.run_id) & (F.col("landed_at") >= F.lit(landed.since))
    names = ("topic", "partition", "offset", "topic_id")
    missing = reduce(Column.__or__, (F.col(name).isNull() for name in names))
    return (
        spark.table(full_name(bronze_table(source)))
        .where(in_range | own)
        .select(
            _place("topic", "partition").alias("subject"),
            F.col("offset").alias("h1"),
            F.lit(0).cast("bigint").alias("h2"),
            F.lit(1).cast("bigint").alias("n"),
            *counts(
                messages=own.cast("int"),
                missing_coordinates=missing.cast("int"),
                missing_timestamps=F.col("timestamp").isNull().cast("int"),
            ),
            *(F.lit(None).cast(VERSION).alias(f"{kind}version") for kind in ("", "published_")),
            F.when(own, F.col("offset")).alias("first_offset"),
        )
    )


def measure(
    spark: SparkSession,
    source: str,
    targets: Sequence[Target],
    landed: LandedRanges,
    scope: Scope = Scope.CHANGE,
) -> tuple[tuple[Measurement, ...], tuple[Measurement, ...]]:
    """Measure everything in one pass.

    Returns:
        The measurements of the silver tables and of the topic partitions.
    """
    silver = measure_silver(spark, targets, scope)
    bronze = measure_bronze(spark, source, landed)
    parts = [part for part in (silver, bronze) if part is not None]
    rows = {row["subject"]: row for row in _totals(_union(parts)).collect()} if parts else {}
    silver_tables = {target.silver for target in targets}
    ranges = {f"{each.topic}/{each.partition}": each for each in landed.ranges}
    # Messages of the run that lie in no range, such as those without a topic, are subjects too.
    places = sorted({*ranges, *rows} - silver_tables)
    return (
        tuple(_silver_measurement(target, rows.get(target.silver)) for target in targets),
        tuple(
            _bronze_measurement(place, ranges.get(place), landed, rows.get(place))
            for place in places
        ),
    )


def _totals(rows: DataFrame) -> DataFrame:
    """One row per subject, through one row per subject and key."""
    by_key = rows.groupBy("subject", "h1", "h2").agg(
        F.sum("n").alias("n"),
        *(F.sum(name).alias(name) for name in COUNTS),
        F.max("version").alias("version"),
        F.max("published_version").alias("published_version"),
        F.min("first_offset").alias("first_offset"),
        F.max("first_offset").alias("last_offset"),
    )
    is_key = F.col("h1").isNotNull()
    repeated = F.when(is_key & (F.col("n") > 1), F.col("n") - 1)
    older = is_key & (F.col("version") < F.col("published_version"))
    return by_key.groupBy("subject").agg(
        F.sum("n").alias("row_count"),
        F.coalesce(F.sum(repeated), F.lit(0)).alias("repeated"),
        F.coalesce(F.sum(older.cast("int")), F.lit(0)).alias("positions_going_back"),
        *(F.sum(name).alias(name) for name in COUNTS),
        F.min("first_offset").alias("first_offset"),
        F.max("last_offset").alias("last_offset"),
    )


def _silver_measurement(target: Target, row: Row | None) -> Measurement:
    # A table whose last row is gone has no row here: all its counts are 0.
    measured = row.asDict() if row is not None else {}
    table = target.table
    values: dict[str, int | None] = {name: measured.get(name, 0) for name in _SILVER}
    if table.key:
        values["duplicate_keys"] = measured.get("repeated", 0)
    else:
        values |= dict.fromkeys(("duplicate_keys", "null_keys", "positions_going_back"))
    values |= {
        "rows_expected": table.rows,
        "upserts": table.upserts,
        "unresolved_placeholders": sum(table.unresolved.values()),
    }
    notes = {
        "unresolved_placeholders": ", ".join(sorted(table.unresolved)),
        "nulls_in_required": ", ".join(table.required),
        "duplicate_keys": ", ".join(table.key),
    }
    return Measurement(table.silver, values, notes)


_SILVER = (
    "row_count",
    "changed_rows",
    "null_keys",
    "placeholder_values",
    "missing_positions",
    "positions_going_back",
    "rows_outside_cut",
    "nulls_in_required",
)


def _bronze_measurement(
    place: str, planned: OffsetRange | None, landed: LandedRanges, row: Row | None
) -> Measurement:
    measured = row.asDict() if row is not None else {}
    start, end = (planned.start, planned.end) if planned else (0, 0)
    first, last = measured.get("first_offset"), measured.get("last_offset")
    counted = landed.messages.get((planned.topic, planned.partition), 0) if planned else 0
    values: Mapping[str, int | None] = {
        "duplicate_offsets": measured.get("repeated", 0),
        "range_start": start,
        "first_offset": start if first is None else first,
        "next_offset": start if last is None else last + 1,
        "range_end": end,
        "messages": measured.get("messages", 0),
        "messages_landed": counted if landed.messages else None,
        "missing_coordinates": measured.get("missing_coordinates", 0),
        "missing_timestamps": measured.get("missing_timestamps", 0),
    }
    return Measurement(place, values, {})


def _place(topic: str, partition: str) -> Column:
    """A topic partition as text; a slash is in no topic's name."""
    return F.concat(
        F.coalesce(F.col(topic), F.lit("?")),
        F.lit("/"),
        F.coalesce(F.col(partition).cast("string"), F.lit("?")),
    )


def _with_keys(rows: DataFrame, keys: DataFrame, how: str) -> DataFrame:
    """Rows with their key where the batch has it; all others lose it (left) or go (inner)."""
    found = keys.select(
        F.col("subject").alias("key_subject"), F.col("h1").alias("key1"), F.col("h2").alias("key2")
    )
    same = (
        (F.col("subject") == F.col("key_subject"))
        & (F.col("h1") == F.col("key1"))
        & (F.col("h2") == F.col("key2"))
    )
    rest = [name for name in rows.columns if name not in ("subject", "h1", "h2")]
    return rows.join(found, on=same, how=how).select(
        "subject", F.col("key1").alias("h1"), F.col("key2").alias("h2"), *rest
    )


def _in_range(each: OffsetRange) -> Column:
    return (
        (F.col("topic") == each.topic)
        & (F.col("partition") == each.partition)
        & (F.col("topic_id") == each.topic_id)
        & (F.col("offset") >= each.start)
        & (F.col("offset") < each.end)
    )


def _union(parts: Iterable[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionAll, parts)
