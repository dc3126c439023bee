"""What bronze has of an interval, and around what is missing: one pass over few columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from lakehouse.plan.remaking.backfilling import Contents, Gap, Interval, Seen
from lakehouse.spark.sql import in_partition, literal
from lakehouse.spark.staging.touched import is_inside


def contents(
    messages: DataFrame, interval: Interval, topics: Sequence[str], gaps: Sequence[Gap]
) -> Contents:
    """Look at the messages of some topics.

    Args:
        messages: Bronze rows.
        interval: What is asked for.
        topics: Those that hold changes of tables.
        gaps: Offsets of them that may be missing.
    """
    if not topics:
        return Contents(0)
    named = ", ".join(map(literal, topics))
    around = (text for number, gap in enumerate(gaps) for text in _around(number, gap))
    row = (
        messages.where(f"topic IN ({named})")
        .selectExpr(
            f"count_if({is_inside(interval)}) AS messages",
            "unix_millis(min(timestamp)) AS first",
            "unix_millis(max(timestamp)) AS newest",
            *around,
        )
        .collect()[0]
    )
    seen = {
        gap: Seen(row[f"inside_{n}"], _time(row[f"before_{n}"]), _time(row[f"after_{n}"]))
        for n, gap in enumerate(gaps)
    }
    return Contents(row["messages"], _time(row["first"]), _time(row["newest"]), seen)


def _around(number: int, gap: Gap) -> tuple[str, str, str]:
    mine = in_partition((gap.topic, gap.partition))
    before, after = f"offset < {gap.first}", f"offset >= {gap.behind}"
    return (
        f"count_if({mine} AND NOT ({before}) AND NOT ({after})) AS inside_{number}",
        f"unix_millis(max(if({mine} AND {before}, timestamp, NULL))) AS before_{number}",
        f"unix_millis(min(if({mine} AND {after}, timestamp, NULL))) AS after_{number}",
    )


def _time(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
