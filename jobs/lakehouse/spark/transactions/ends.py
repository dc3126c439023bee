"""Where what waits begins, in each topic partition, once the transactions of a batch are judged.

In: the states of transactions, the events that are not applied yet. Out: for each topic partition
the first offset that waits, so that no whole transaction is split.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.envelope import READ
from lakehouse.spark.once import once
from lakehouse.spark.parsing.positions import commit_of
from lakehouse.spark.sql import any_of, in_partition, literal
from lakehouse.spark.transactions.unmarked import FIRST

_COPY = (
    "row_number() OVER (PARTITION BY topic, partition, transaction, total_order ORDER BY offset) "
    "AS copy"
)
_IS_READ = f"op = {literal(READ)} AND transaction IS NULL AND reason IS NULL AND NOT control"


def closed_ends(
    envelopes: DataFrame, fresh: DataFrame, states: DataFrame, first: int | None, commit_fields: int
) -> tuple[dict[tuple[str, int], int], int | None, bool]:
    """First offset in each topic partition of what waits, and the first transaction that does.

    The third value is whether an event waits for the BEGIN of its transaction.
    A topic partition may have an event of a whole transaction, for the first time, behind one that
    waits: after a restart, or behind what an incremental snapshot read. Then it waits, too.
    """
    placed = fresh.join(states.select("transaction", "order"), "transaction", "left")
    ends, split, is_unmarked = _ends(envelopes, placed, first, commit_fields)
    if split is not None:
        placed = once(placed.selectExpr("*", _COPY).where("copy = 1"))
        ends, split, _ = _ends(envelopes, placed, first, commit_fields)
    while split is not None:
        first = split
        ends, split, _ = _ends(envelopes, placed, first, commit_fields)
    return ends, first, is_unmarked


def _ends(
    envelopes: DataFrame, placed: DataFrame, first: int | None, commit_fields: int
) -> tuple[dict[tuple[str, int], int], int | None, bool]:
    """First offset in each topic partition of what waits, and the first transaction that it splits.

    The third value is whether an event waits for the BEGIN of its transaction.

    Events of a transaction wait that is not whole, or behind one, and read events of an
    incremental snapshot that have seen such a transaction.
    """
    waits = "order IS NULL" if first is None else f"(order IS NULL OR order >= {first})"
    rows = (
        placed.groupBy("topic", "partition")
        .agg(
            F.expr(f"min(if({waits}, offset, NULL)) AS end"),
            F.expr(f"min(if({waits}, coalesce(position, ''), NULL)) AS position"),
            F.expr(f"max(if({waits}, NULL, offset)) AS last"),
            F.expr("count_if(order IS NULL) AS unmarked"),
        )
        .collect()
    )
    ends = {(r["topic"], r["partition"]): int(r["end"]) for r in rows if r["end"] is not None}
    if not ends:
        return ends, None, False
    is_unmarked = any(row["unmarked"] for row in rows)
    lowest = min(row["position"] for row in rows if row["position"] is not None)
    commit = literal(commit_of(lowest, commit_fields))
    reads = envelopes.where(f"{_IS_READ} AND position >= {commit}")
    for row in reads.groupBy("topic", "partition").agg(F.min("offset").alias("end")).collect():
        place = (row["topic"], row["partition"])
        ends[place] = min(ends.get(place, row["end"]), row["end"])
    behind = any_of(
        f"{in_partition(place)} AND offset >= {ends[place]}"
        for row in rows
        if (place := (row["topic"], row["partition"])) in ends
        and (row["last"] or -1) >= ends[place]
    )
    if behind == "false":
        return ends, None, is_unmarked
    # What came behind its END (`unmarked`) belongs to no cut: it may stay behind alone.
    mine = f"NOT {waits} AND order > {FIRST} AND ({behind})"
    split = placed.where(mine).agg(F.min("order")).collect()
    return ends, split[0][0], is_unmarked
