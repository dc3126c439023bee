"""The metrics of all suites of a run, in one Spark query over all its tables.

In: the staged tables and the landed ranges. Out: one measurement per silver table and topic
partition. Judged rows are summed by subject; all rows are grouped by a hash of their key first,
with nothing else. So the number of Spark jobs depends neither on the number of tables nor on the
number of Expectations. Rows that are not above all that was published are rare: their versions are
joined with the published ones in a query of its own.

Scope *change* judges the rows of the batch, and looks for their keys in the whole table: of large
tables only the batch's few keys are grouped, found by a join. Scope *full* judges every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from pyspark.sql import Row, SparkSession

from lakehouse.plan import records
from lakehouse.quality.judgement import Measurement
from lakehouse.quality.measuring.bronze_rows import (
    bronze_counted,
    bronze_keys,
    bronze_measurement,
    landed_messages,
)
from lakehouse.quality.measuring.landed import LandedRanges
from lakehouse.quality.measuring.metric_rows import KEYED, OF_KEYS, PERHAPS_BACK, Counted, sums
from lakehouse.quality.measuring.reference_rows import ReferenceRows, reference_rows, types_of
from lakehouse.quality.measuring.silver_measurements import silver_measurements
from lakehouse.quality.measuring.silver_rows import SilverRows, unique_subject
from lakehouse.quality.measuring.staged import Target
from lakehouse.spark.session import tune

# Up to this many rows all keys of a table are grouped: that costs less than the join.
SMALL_TABLE = 200_000
# More keys than this are not sent to every task: the keys are shuffled instead.
BROADCAST_KEYS = 1_000_000
# The same of keys with their versions, which are text.
_BROADCAST_VERSIONS = 250_000


class Scope(StrEnum):
    """Which rows are judged: those of the batch, or all."""

    CHANGE = records.CHANGE
    FULL = records.FULL


def measure(
    spark: SparkSession,
    source: str,
    targets: Sequence[Target],
    landed: LandedRanges,
    scope: Scope = Scope.CHANGE,
    whole_up_to: int = SMALL_TABLE,
) -> tuple[tuple[Measurement, ...], tuple[Measurement, ...]]:
    """Measure everything in one pass.

    Args:
        spark: Its catalog and configuration are used, in a session of its own.
        source: The source's name.
        targets: The staged tables.
        landed: What the run landed.
        scope: Which rows are judged.
        whole_up_to: Of tables of up to this many rows all keys are grouped.

    Returns:
        The measurements of the silver tables and of the topic partitions.
    """
    session = session_for(spark, targets, landed)
    width = max((len(target.rules) for target in targets), default=0)
    tables = [silver_rows(session, target, scope, width) for target in targets]
    referring = reference_rows(session, tables)
    messages = landed_messages(session, source, landed) if landed.ranges else ""
    counted = [*(table.judged for table in tables), *bronze_counted(messages, landed, width)]
    large = [table for table in tables if _is_large(table, whole_up_to)]
    counted += [table.row_count for table in large]
    far = [each for each in referring if _is_far(each, whole_up_to)]
    keyed = [*_keyed(tables, large, referring, far), *bronze_keys(messages, landed)]
    parts = [*counted, *_of_keys(keyed, width)]
    totals = session.sql(_totals(parts, width)).collect() if parts else ()
    rows = {row["subject"]: row for row in totals}
    back = _going_back(session, [table for table in tables if _may_go_back(table, rows)])
    own = {target.silver for target in targets} | {each.subject for each in referring}
    own |= {unique_subject(t.silver, rule) for t in targets for rule in t.rules if rule.unique}
    ranges = {f"{each.topic}/{each.partition}": each for each in landed.ranges}
    # Messages of the run that lie in no range, such as those without a topic, are subjects too.
    places = sorted({*ranges, *rows} - own)
    return (
        silver_measurements(targets, landed, rows, referring, back),
        tuple(
            bronze_measurement(place, ranges.get(place), landed, rows.get(place))
            for place in places
        ),
    )


def _keyed(
    tables: Sequence[SilverRows],
    large: Sequence[SilverRows],
    referring: Sequence[ReferenceRows],
    far: Sequence[ReferenceRows],
) -> list[str]:
    """Rows by their keys: of large tables, and where others refer far, those of the batch alone."""
    statements = [table.counted_keys for table in tables if table not in large]
    statements += [text for table in tables if table.full for text in table.unique]
    statements += [each.referring for each in referring]
    statements += [each.referenced for each in referring if each not in far]
    if large or far:
        are_few = _changed([*large, *(each.rows for each in far)]) <= BROADCAST_KEYS
        of_batch = [*(table.batch_keys for table in large), *(each.keys for each in far)]
        there = [*(table.keys for table in large), *(each.referenced for each in far)]
        statements.append(
            f"SELECT {'/*+ BROADCAST(k) */' if are_few else ''} r.* FROM ({_union(there)}) r "
            f"JOIN (SELECT DISTINCT * FROM ({_union(of_batch)})) k "
            # A number alone is looked up in half of the time that takes a key of several parts.
            "ON r.h1 = k.h1 AND (r.h2 ^ k.h2) = 0"
        )
    return statements


def _of_keys(keyed: Sequence[str], width: int) -> list[str]:
    """What rows come to by subject, through one row per subject and key."""
    if not keyed:
        return []
    summed = ", ".join(f"sum({name}) {name}" for name in KEYED)
    by_key = f"SELECT subject, h1, {summed} FROM ({_union(keyed)}) GROUP BY subject, h1, h2"
    values = (
        "sum(rows)",
        "sum(if(h1 IS NOT NULL AND n > 1, n - 1, 0))",
        "sum(if(referenced = 0, references, 0))",
    )
    counted = Counted("subject", dict(zip(OF_KEYS, values, strict=True)), width=width)
    return [counted.select(f"({by_key})", "GROUP BY subject")]


def _going_back(session: SparkSession, tables: Sequence[SilverRows]) -> dict[str, int]:
    """Silver table → rows of the batch that have an older version than their key had published."""
    if not tables:
        return {}
    # A merge join would sort the text of all versions.
    hint = "BROADCAST" if _changed(tables) <= _BROADCAST_VERSIONS else "SHUFFLE_HASH"
    batch = _union(table.batch_versions for table in tables)
    published = _union(table.published_versions for table in tables)
    rows = session.sql(
        f"SELECT /*+ {hint}(c) */ subject, count(*) older FROM ({batch}) c "
        f"JOIN ({published}) p USING (subject, h1, h2) WHERE version < published GROUP BY subject"
    )
    return {row["subject"]: row["older"] for row in rows.collect()}


def _may_go_back(table: SilverRows, rows: Mapping[str, Row]) -> bool:
    row = rows.get(table.target.silver)
    return bool(table.target.table.key) and row is not None and row[PERHAPS_BACK] > 0


def _is_large(table: SilverRows, whole_up_to: int) -> bool:
    """Whether the batch's keys are looked for in it; without a key all rows are counted."""
    judged_whole = table.full or table.target.is_new or not table.target.table.key
    return not judged_whole and table.target.table.rows > whole_up_to


def _is_far(reference: ReferenceRows, whole_up_to: int) -> bool:
    """Whether the few rows that a batch refers to are looked for among many."""
    return not reference.rows.target.is_whole and reference.reference.rows > whole_up_to


def _changed(tables: Iterable[SilverRows]) -> int:
    """How many keys their batches have."""
    return sum(table.target.table.upserts for table in tables)


def session_for(
    spark: SparkSession, targets: Sequence[Target], landed: LandedRanges
) -> SparkSession:
    """A session for queries over the staged tables and what landed."""
    session = spark.newSession()
    tune(session, sum(target.table.rows for target in targets) + sum(landed.messages.values()))
    return session


def silver_rows(session: SparkSession, target: Target, scope: Scope, width: int = 0) -> SilverRows:
    """The statements of one staged table.

    Args:
        session: From `session_for`.
        target: The table.
        scope: Which rows are judged.
        width: How many rules of a person the table with the most has.
    """
    types = types_of(session, target.relation)
    return SilverRows(target, types, full=scope is Scope.FULL, width=width)


def _totals(statements: Sequence[str], width: int) -> str:
    """One row per subject."""
    summed = ", ".join(f"sum({name}) {name}" for name in sums(width))
    return (
        f"SELECT subject, {summed}, min(offset) first_offset, "
        "max(offset) last_offset, max(newest) newest "
        f"FROM ({_union(statements)}) GROUP BY subject"
    )


def _union(statements: Iterable[str]) -> str:
    return " UNION ALL ".join(statements)
