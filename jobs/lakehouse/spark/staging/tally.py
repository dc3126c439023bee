"""Counts of a staged batch, and the coordinates of single events where the driver needs them.

In: judged events, or the winners of a batch. Out: plain values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import Place, TablePlan, TopicPartition
from lakehouse.spark.sql import in_partition, literal
from lakehouse.spark.staging import collapse
from lakehouse.spark.staging.state import is_mark

Verdicts: TypeAlias = Mapping[str, Mapping[TopicPartition, int]]

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


def verdicts(judged: DataFrame) -> Verdicts:
    """Verdict → topic partition → how many events have it.

    Args:
        judged: From `collapse.judge_events`.
    """
    groups = judged.where("counted").groupBy("topic", "partition", "verdict").count()
    found: dict[str, dict[TopicPartition, int]] = {}
    for row in groups.collect():
        found.setdefault(row["verdict"], {})[(row["topic"], row["partition"])] = row["count"]
    return found


def tallies(places: Sequence[TopicPartition]) -> dict[str, str]:
    """Name → whether an event is counted there: one for each verdict in each topic partition."""
    return {
        name: f"counted AND verdict = {literal(verdict)} AND {in_partition(place)}"
        for name, verdict, place in _tallied(places)
    }


def tallied(counts: Mapping[str, int], places: Sequence[TopicPartition]) -> Verdicts:
    """The same as `verdicts`, of what `tallies` names and how many events each has."""
    found: dict[str, dict[TopicPartition, int]] = {}
    for name, verdict, place in _tallied(places):
        if counts[name]:
            found.setdefault(verdict, {})[place] = counts[name]
    return found


def _tallied(places: Sequence[TopicPartition]) -> Iterator[tuple[str, str, TopicPartition]]:
    for number, place in enumerate(places):
        for verdict in collapse.VERDICTS:
            yield f"{verdict}_{number}", verdict, place


def counted(plan: TablePlan) -> dict[str, str]:
    """Kind → SQL of what a winner of a batch counts in it."""
    return {
        "keys": "int(position IS NOT NULL)",
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


def numbers(folded: DataFrame, plan: TablePlan, tallies: Iterable[str] = ()) -> dict[str, int]:
    """What the winners of a batch amount to, by kind, and about how many `octets` they take.

    Args:
        folded: From `collapse.winners`.
        plan: The table.
        tallies: What they count beside.
    """
    beside = {name: name for name in tallies}
    kinds = {**counted(plan), "octets": _octets(plan), **beside}
    row = folded.selectExpr(*(f"sum({number}) AS {name}" for name, number in kinds.items()))
    found = row.collect()[0]
    return {name: int(found[name] or 0) for name in kinds}


def room_of(plan: TablePlan, rows: int) -> int:
    """About how much room so many winners take, beside their texts, at most."""
    return rows * (_row_octets(plan) + _PLACE_OCTETS)


def _row_octets(plan: TablePlan) -> int:
    return 16 * (len(plan.columns) + 8)


def _octets(plan: TablePlan) -> str:
    """About how much room a winner takes."""
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
    return " + ".join((str(_row_octets(plan)), places, *found))


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
