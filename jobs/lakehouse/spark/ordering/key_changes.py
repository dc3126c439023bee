"""Key changes: the delete and the create event of one update are applied together.

In: the envelopes of a batch. Out: for each topic partition the first offset that is not applied,
so that no half of a key change is applied without the other one. They may stand in different topic
partitions, of which one is landed further than the other. A cut between them would have the row
nowhere or twice, and the create event may lack a large value that only the old key's row has.
Where transactions are kept whole there is nothing to do here: these halves have no
`alone` (`envelopes.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.envelope import CREATE, DELETE, READ
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.once import once
from lakehouse.spark.ordering.lanes import IS_DATA_EVENT
from lakehouse.spark.ordering.since import Since
from lakehouse.spark.parsing.reasons import IDENTITY
from lakehouse.spark.sql import any_of, in_partition, literal

# What the two halves have in common. PostgreSQL's position may be stood in for, its LSN never;
# Oracle numbers the changes of each transaction, and several commit at one SCN.
CHANGE = "concat_ws('/', coalesce(concat(log, source_lsn), position), source_transaction)"
_HALF = (*IDENTITY, "change", "topic", "partition", "op", "key")


def together(
    envelopes: DataFrame,
    ends: Mapping[TopicPartition, int],
    since: Since,
    landed: LandedOffsets,
    deadline_ms: int,
) -> tuple[dict[TopicPartition, int], tuple[str, ...]]:
    """Find where halves wait, and which have waited long enough.

    A half whose other half is not landed waits until the deadline. A create event waits no longer
    either once something newer is landed in every topic partition of its topic: its delete event
    can never come. The new key may be in a topic partition that had no message yet, so that a
    delete event knows no such sign.

    Args:
        envelopes: The batch, with positions.
        ends: Topic partition → first offset that waits for another reason.
        since: What is known before the batch.
        landed: How far bronze goes.
        deadline_ms: What arrived before it waits no longer, in milliseconds since the epoch.

    Returns:
        The ends with those of halves, and findings about halves that are applied alone.
    """
    halves = once(_halves(envelopes, since))
    single = once(_single(halves))
    newest = _newest(envelopes, since, landed) if single.take(1) else {}
    given_up = f"since < {deadline_ms}L OR ({_is_overtaken(newest)})"
    found = dict(ends)
    _lower(found, single.where(f"NOT ({given_up})"))
    if found:
        _close(found, halves)
    return found, _findings(single.where(given_up), found)


def _halves(envelopes: DataFrame, since: Since) -> DataFrame:
    """Each half once, where it stands first; `is_fresh` ones are neither applied nor judged."""
    is_half = f"{IS_DATA_EVENT} AND alone"
    kinds = ", ".join(map(literal, (CREATE, DELETE)))
    rows = envelopes.where(f"{is_half} AND op IN ({kinds})").selectExpr(
        "*", f"{CHANGE} AS change", f"NOT redelivered AND NOT ({since.left_behind}) AS is_fresh"
    )
    return rows.groupBy(*_HALF).agg(
        F.min("offset").alias("offset"),
        F.min("arrived_ms").alias("since"),
        F.min("position").alias("position"),
        F.bool_and("is_fresh").alias("is_fresh"),
    )


def _single(halves: DataFrame) -> DataFrame:
    """Fresh halves of changes that have not as many old keys as new ones."""
    counts = (f"count_if(op = {literal(op)})" for op in (DELETE, CREATE))
    uneven = halves.groupBy(*IDENTITY, "change").agg(F.expr(f"{' <> '.join(counts)} AS is_uneven"))
    return _of_same_changes(halves.where("is_fresh"), uneven.where("is_uneven"))


def _of_same_changes(halves: DataFrame, others: DataFrame) -> DataFrame:
    """The halves of those changes that the other rows name."""
    same = [F.col(f"h.{name}").eqNullSafe(F.col(f"o.{name}")) for name in (*IDENTITY, "change")]
    return halves.alias("h").join(others.alias("o"), same, "left_semi")


def _newest(envelopes: DataFrame, since: Since, landed: LandedOffsets) -> dict[str, str]:
    """Topic → the position that what was streamed reaches in all its topic partitions."""
    streamed = envelopes.where(f"{IS_DATA_EVENT} AND op != {literal(READ)} AND NOT redelivered")
    rows = streamed.groupBy("topic", "partition").agg(F.max("position").alias("newest")).collect()
    found = {place: top.position for place, top in since.progress.tops.items()}
    for row in rows:
        place = (row["topic"], row["partition"])
        found[place] = max(found.get(place, ""), row["newest"] or "")
    return {
        topic: min(found.get((topic, number), "") for number in landed.topics[topic].next_offsets)
        for topic in {row["topic"] for row in rows}
    }


def _is_overtaken(newest: Mapping[str, str]) -> str:
    behind = any_of(
        f"topic = {literal(topic)} AND position < {literal(position)}"
        for topic, position in sorted(newest.items())
    )
    return f"op = {literal(CREATE)} AND ({behind})"


def _lower(ends: dict[TopicPartition, int], waiting: DataFrame) -> bool:
    """Lower the ends to the first of what waits; whether one changed."""
    rows = waiting.groupBy("topic", "partition").agg(F.min("offset").alias("first")).collect()
    is_changed = False
    for row in rows:
        place = (row["topic"], row["partition"])
        if row["first"] < ends.get(place, row["first"] + 1):
            ends[place], is_changed = row["first"], True
    return is_changed


def _close(ends: dict[TopicPartition, int], halves: DataFrame) -> None:
    """Lower the ends until no half is before one while its other half is behind one."""
    is_changed = True
    while is_changed:
        behind = any_of(
            f"{in_partition(place)} AND offset >= {end}" for place, end in sorted(ends.items())
        )
        fresh = halves.where("is_fresh")
        is_changed = _lower(ends, _of_same_changes(fresh, fresh.where(behind)))


def _findings(alone: DataFrame, ends: Mapping[TopicPartition, int]) -> tuple[str, ...]:
    """What a person should know of halves that are applied without the other one."""
    waits = any_of(f"{in_partition(p)} AND offset >= {end}" for p, end in sorted(ends.items()))
    counts = (F.count("*").alias("halves"), F.expr("min(struct(partition, offset)) AS first"))
    rows = alone.where(f"NOT ({waits})").groupBy("topic").agg(*counts).collect()
    return tuple(
        f"{row['halves']} halves of key changes in {row['topic']} are applied alone, the first at "
        f"partition {row['first'].partition}, offset {row['first'].offset}: the other half never "
        "came, and with it a large value that did not change may be lost; read the rows again with "
        "an incremental snapshot"
        for row in sorted(rows, key=lambda row: str(row["topic"]))
    )
