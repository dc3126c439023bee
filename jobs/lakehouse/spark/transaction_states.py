"""The state of each transaction of a batch: whole, open, or odd in one of several ways.

In: the bounds of transactions, what their ENDs count, the events that landed. Out: one row for each
transaction, and the sums of all, which are the metrics of the suite `transactions`.
"""

from __future__ import annotations

from collections.abc import Collection

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, Row

from lakehouse.spark.doubts import Doubts
from lakehouse.spark.sql import literal

_LOST_END = "END was lost"
_FEWER = "fewer events landed than END counts, and later ones did"
OVERDUE = "not whole after the timeout"
SURPLUS = "events came behind those that its END counts"
# Metric of the suite `transactions` → what the state of a transaction is then.
CONDITIONS = {
    "open_transactions": "NOT whole",
    "overdue_transactions": f"odd = {literal(OVERDUE)}",
    "lost_ends": f"odd = {literal(_LOST_END)}",
    "short_transactions": f"odd = {literal(_FEWER)}",
    "surplus_transactions": "surplus",
    "transactions_with_unlisted_events": "unlisted",
    "ends_without_begin": "begin IS NULL",
    "ends_before_begin": "first_end < begin",
    "differing_ends": "differing",
    "miscounted_ends": "miscounted",
}


def judge_transactions(
    known: DataFrame,
    expected: DataFrame,
    collections: Collection[str],
    deadline_ms: int,
    events: DataFrame,
    doubts: Doubts | None,
) -> DataFrame:
    """Each transaction of the batch: `transaction, order, whole, odd, short`, and its counts.

    Args:
        known: The transactions, with their bounds.
        expected: What their ENDs count.
        collections: The data collections that ENDs of the batch name.
        deadline_ms: What began before it waits no longer, in milliseconds since the epoch.
        events: What has landed of the transactions, at a second look also earlier.
        doubts: What the second look knows; None at the first one.
    """
    differences = _differences(known, expected, collections, events, doubts)
    ended, is_short = F.col("end").isNotNull(), F.col("overtaken").isNotNull()
    odd = (
        F.when(~ended & (F.col("order") < F.col("newest")), _LOST_END)
        .when(F.col("overtaken"), _FEWER)
        .when((~ended | is_short) & (F.col("began_ms") < deadline_ms), OVERDUE)
    )
    return known.join(differences, "transaction", "left").select(
        "transaction",
        "order",
        odd.alias("odd"),
        ((ended & ~is_short) | odd.isNotNull()).alias("whole"),
        is_short.alias("short"),
        *("surplus", "unlisted", "marks", "begin", "first_end", "differing", "miscounted"),
    )


def _differences(
    known: DataFrame,
    expected: DataFrame,
    collections: Collection[str],
    events: DataFrame,
    doubts: Doubts | None,
) -> DataFrame:
    """Where what landed is not what END counts: `transaction, overtaken, surplus, unlisted`.

    `overtaken` is NULL where nothing is missing; else whether what is missing can never come.
    """
    landed = events.groupBy("transaction", "collection").agg(
        F.countDistinct("total_order").alias("landed")
    )
    count = F.coalesce("landed", F.lit(0))
    return (
        expected.join(landed, ["transaction", "collection"], "full")
        .join(known.select("transaction", "order", "ended_at"), "transaction", "inner")
        .groupBy("transaction")
        .agg(
            F.min(F.when(count < F.col("expected"), _is_overtaken(doubts))).alias("overtaken"),
            F.bool_or(count > F.col("expected")).alias("surplus"),
            # A collection that no END names is one whose topic is called otherwise.
            F.bool_or(
                F.col("expected").isNull()
                & F.col("ended_at").isNotNull()
                & F.col("collection").isin(*collections)
            ).alias("unlisted"),
        )
    )


def _is_overtaken(doubts: Doubts | None) -> Column:
    """Whether what is missing of a transaction can never come."""
    if doubts is None or not doubts.behind:
        return F.lit(False)
    entries = ", ".join(
        f"{literal(collection)}, named_struct('lowest', {lowest}L, 'highest', {highest}L)"
        for collection, (lowest, highest) in doubts.behind.items()
    )
    behind = F.expr(f"element_at(map({entries}), collection)")
    everywhere, anywhere = (
        F.coalesce(behind.getField(name), F.lit(-1)) for name in ("lowest", "highest")
    )
    is_old = F.col("ended_at") < F.lit(doubts.newest_landing)
    return (everywhere > F.col("order")) | ((anywhere > F.col("order")) & is_old)


def summarise(states: DataFrame) -> Row:
    """How many transactions are what, and the place of the first that is not whole."""
    counted = states.agg(
        F.min(F.when(~F.col("whole"), F.col("order"))).alias("first"),
        F.count_if(F.col("whole")).alias("whole"),
        F.count_if(~F.col("whole")).alias("waiting"),
        F.count_if(F.col("short")).alias("short"),
        F.count_if(F.col("odd").isNotNull()).alias("odd"),
        F.sum("marks").alias("marks"),
        *(F.expr(f"count_if({test})").alias(name) for name, test in CONDITIONS.items()),
    )
    return counted.collect()[0]
