"""The metrics of all suites of a run, in one Spark pass over all its tables.

In: the staged tables and the landed ranges. Out: one measurement per silver table and topic
partition. Every table becomes rows of one shape, `subject`, a hash of the event key and counts;
one aggregation by key and one by subject follow. So the number of Spark jobs depends neither on
the number of tables nor on the number of Expectations.

Scope *change* judges the rows of the batch, and looks for their keys in the whole table: small
tables are read whole; in large ones the keys are found by a join with the batch's few keys
instead of a shuffle of the key column. Scope *full* judges every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from pyspark.sql import SparkSession

from lakehouse.plan import records
from lakehouse.quality.bronze_rows import bronze_measurement, bronze_statements
from lakehouse.quality.judgement import Measurement
from lakehouse.quality.landed import LandedRanges
from lakehouse.quality.metric_rows import COUNTS, own_counts
from lakehouse.quality.reference_rows import ReferenceRows, reference_rows, types_of
from lakehouse.quality.silver_measurements import silver_measurements
from lakehouse.quality.silver_rows import SilverRows, unique_subject
from lakehouse.quality.staged import Target
from lakehouse.spark.session import tune

# Up to this many rows a table is read whole: one scan costs less than the joins.
SMALL_TABLE = 200_000
# More keys than this are not sent to every task: the keys are shuffled instead.
BROADCAST_KEYS = 1_000_000


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
        whole_up_to: Tables of up to this many rows are read whole.

    Returns:
        The measurements of the silver tables and of the topic partitions.
    """
    session = session_for(spark, targets, landed)
    width = max((len(target.rules) for target in targets), default=0)
    tables = [silver_rows(session, target, scope, width) for target in targets]
    referring = reference_rows(session, tables)
    parts = [
        *_silver_statements(tables, referring, whole_up_to),
        *bronze_statements(source, landed, width),
    ]
    totals = session.sql(_totals(parts, width)).collect() if parts else ()
    rows = {row["subject"]: row for row in totals}
    own = {target.silver for target in targets} | {each.subject for each in referring}
    own |= {unique_subject(t.silver, rule) for t in targets for rule in t.rules if rule.unique}
    ranges = {f"{each.topic}/{each.partition}": each for each in landed.ranges}
    # Messages of the run that lie in no range, such as those without a topic, are subjects too.
    places = sorted({*ranges, *rows} - own)
    return (
        silver_measurements(targets, landed, rows, referring),
        tuple(
            bronze_measurement(place, ranges.get(place), landed, rows.get(place))
            for place in places
        ),
    )


def _silver_statements(
    tables: Sequence[SilverRows], referring: Sequence[ReferenceRows], whole_up_to: int
) -> list[str]:
    """The statements of all tables: small and new ones whole, large ones by their keys."""
    large = [table for table in tables if _is_large(table, whole_up_to)]
    statements = [text for table in tables if table not in large for text in table.whole]
    statements += [table.changed for table in large]
    statements += [table.staged_keys for table in large if not table.target.table.key]
    keyed = [table for table in large if table.target.table.key]
    statements += [text for table in tables if table.full for text in table.unique]
    statements += [each.referring for each in referring]
    far = [each for each in referring if _is_far(each, whole_up_to)]
    statements += [each.referenced for each in referring if each not in far]
    if keyed or far:
        count = _keys([*keyed, *(each.rows for each in far)])
        hint = "/*+ BROADCAST(k) */" if count <= BROADCAST_KEYS else ""
        of_batch = [*(table.changed_keys for table in keyed), *(each.keys for each in far)]
        keys = f"(SELECT DISTINCT * FROM ({_union(of_batch)}))"
        counts = (*COUNTS, *own_counts(tables[0].width))
        rest = ", ".join(("n", *counts, "version", "published_version", "first_offset", "newest"))
        on = "r.subject = k.subject AND r.h1 = k.h1 AND r.h2 = k.h2"
        # Staged rows of other keys lose their hash and are only counted; published ones go.
        for how, texts in (
            ("LEFT", [table.staged_keys for table in keyed]),
            ("INNER", [*(t.published_keys for t in keyed), *(each.referenced for each in far)]),
        ):
            if texts:
                statements.append(
                    f"SELECT {hint} r.subject, k.h1, k.h2, {rest} "
                    f"FROM ({_union(texts)}) r {how} JOIN {keys} k ON {on}"
                )
    return statements


def _is_large(table: SilverRows, whole_up_to: int) -> bool:
    judged_whole = table.full or table.target.is_new
    return not judged_whole and table.target.table.rows > whole_up_to


def _is_far(reference: ReferenceRows, whole_up_to: int) -> bool:
    """Whether the few rows that a batch refers to are looked for among many."""
    return not reference.rows.target.is_whole and reference.reference.rows > whole_up_to


def _keys(tables: Iterable[SilverRows]) -> int:
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
    """One row per subject, through one row per subject and key."""
    sums = ", ".join(f"sum({name}) {name}" for name in (*COUNTS, *own_counts(width)))
    by_key = (
        f"SELECT subject, h1, sum(n) n, {sums}, max(version) version, "
        "max(published_version) published_version, min(first_offset) first_offset, "
        "max(first_offset) last_offset, max(newest) newest "
        f"FROM ({_union(statements)}) GROUP BY subject, h1, h2"
    )
    repeated = "if(h1 IS NOT NULL AND n > 1, n - 1, 0)"
    older = "coalesce(h1 IS NOT NULL AND version < published_version, false)"
    return (
        f"SELECT subject, sum(n) - sum(deleted_rows) row_count, sum({repeated}) repeated, "
        f"sum(int({older})) positions_going_back, {sums}, "
        "sum(if(referenced = 0, references, 0)) dangling, "
        "min(first_offset) first_offset, max(last_offset) last_offset, max(newest) newest "
        f"FROM ({by_key}) GROUP BY subject"
    )


def _union(statements: Iterable[str]) -> str:
    return " UNION ALL ".join(statements)
