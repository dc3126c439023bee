"""Counts of a staged batch, and the coordinates of single events where the driver needs them.

In: judged events, or the winners of a batch. Out: plain values.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.names import quote_ident
from lakehouse.plan.tables import Place, TablePlan, TopicPartition
from lakehouse.spark import collapse
from lakehouse.spark.sql import literal
from lakehouse.spark.state import is_mark

# Coordinates of unreadable events that the driver holds for the quarantine.
MAX_QUARANTINED = 10_000
# Of where a row stands: the path of a file, and a number.
_PLACE_OCTETS = 200


@dataclass(frozen=True, slots=True)
class BadEvent:
    """A change event that cannot be applied, and the columns that cannot be decoded, if any."""

    topic: str
    partition: int
    offset: int
    reason: str
    columns: str


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows events are, an update may be two, and about how much room they take."""

    rows: int
    octets: int


def verdicts(
    judged: DataFrame, sized: TablePlan | None = None
) -> tuple[dict[str, dict[TopicPartition, int]], Size | None]:
    """Verdict → topic partition → how many events have it; and their size.

    Args:
        judged: From `collapse.judge_events`.
        sized: The table; None where nobody needs the size, for which each image is looked at.
    """
    found: dict[str, dict[TopicPartition, int]] = {}
    groups = judged.groupBy("topic", "partition", "verdict").agg(
        F.expr("count_if(counted) AS events"),
        F.count("*").alias("rows"),
        F.expr(f"sum({_octets(sized) if sized else '0'}) AS octets"),
    )
    rows = groups.collect()
    for row in rows:
        if row["events"]:
            place = (row["topic"], row["partition"])
            found.setdefault(row["verdict"], {})[place] = row["events"]
    if sized is None:
        return found, None
    return found, Size(sum(row["rows"] for row in rows), sum(row["octets"] for row in rows))


def counted(plan: TablePlan) -> dict[str, str]:
    """Kind → SQL of what a winner of a batch counts in it."""
    return {
        "keys": "1",
        "upserts": "if(kept, greatest(copies, 1), 0)",
        "inserts": "greatest(copies - had, 0)",
        "deletes": "greatest(had - copies, 0)",
        "standing": "int(standing)",
        "marked": "int(marked)",
        "marks": f"int({is_mark(plan)})",
        "shifted": "int(shifted_at IS NOT NULL)",
        "recreated": "int(recreated)",
        "unknown": "int(unknown)",
    }


def numbers(folded: DataFrame, plan: TablePlan) -> dict[str, int]:
    """What the winners of a batch amount to, by kind, and about how many `octets` they take."""
    kinds = {**counted(plan), "octets": _octets(plan)}
    row = folded.selectExpr(*(f"sum({number}) AS {name}" for name, number in kinds.items()))
    found = row.collect()[0]
    return {name: int(found[name] or 0) for name in kinds}


def _octets(plan: TablePlan) -> str:
    """About how much room an event or a winner takes."""
    sizes = {
        "string": "octet_length(image.{name})",
        "binary": "octet_length(image.{name})",
        **dict.fromkeys(("array", "map", "struct"), "octet_length(to_json(image.{name}))"),
    }
    found = (
        f"coalesce({sizes[base].format(name=quote_ident(name))}, 0)"
        for name, kind in plan.columns.items()
        if (base := kind.partition("<")[0]) in sizes
    )
    places = f"coalesce({_PLACE_OCTETS} * size(places), 0)"
    return " + ".join((str(16 * (len(plan.columns) + 8)), places, *found))


def unresolved(folded: DataFrame) -> dict[str, int]:
    """Columns whose unchanged value was nowhere to be found → rows."""
    lacking = folded.where("kept").select(F.explode("unavailable").alias("name"))
    return {row["name"]: row["count"] for row in lacking.groupBy("name").count().collect()}


def bad_events(judged: DataFrame) -> tuple[BadEvent, ...]:
    """The quarantined events, each once."""
    rows = (
        judged.where(f"verdict = {literal(collapse.QUARANTINED)}")
        .selectExpr("topic", "partition", "offset", "reason", "array_join(bad, ', ') AS columns")
        .distinct()
        .limit(MAX_QUARANTINED + 1)
        .collect()
    )
    return tuple(
        BadEvent(r["topic"], r["partition"], r["offset"], r["reason"], r["columns"]) for r in rows
    )


def new_places(judged: DataFrame) -> tuple[Place, ...]:
    """Where the events stand that are applied."""
    rows = judged.where(f"verdict = {literal(collapse.NEW)}")
    found = rows.select("topic", "partition", "offset").distinct().collect()
    return tuple(sorted((row["topic"], row["partition"], row["offset"]) for row in found))
