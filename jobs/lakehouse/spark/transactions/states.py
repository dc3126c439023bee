"""The state of each transaction of a batch: whole, open, or odd in one of several ways.

In: the marks of transactions, the events that landed. Out: one row for each transaction, and the
sums of all, which are the metrics of the suite `transactions`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Row

from lakehouse.spark.sql import literal
from lakehouse.spark.transactions.doubts import Doubts
from lakehouse.spark.transactions.marks import listed_collections, said

_LOST_END = "END was lost"
_FEWER = (
    "fewer events landed than END counts, and later ones did: the others are lost or in quarantine"
)
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
# What rows of one transaction say → how it is put together.
_MERGED = {
    "order": "min",
    "began_ms": "min",
    "end": "max",
    "ended_at": "min",
    "marks": "sum",
    "begin": "min",
    "first_end": "min",
    "least_counts": "min",
    "most_counts": "max",
    "miscounted": "max",
    "fresh": "max",
    "is_new": "max",
}
_ALL = [f"{how}(`{name}`) AS `{name}`" for name, how in _MERGED.items()]
_PART = "if(collection IS NULL, NULL, struct(collection, listed, landed, least, most))"
_LISTED = "transform(filter(parts, p -> p.listed), p -> p.collection)"


@dataclass(frozen=True, slots=True)
class Survey:
    """What has to be known of all transactions of a batch before one can be judged.

    Attributes:
        collections: The data collections that ENDs name.
        newest: Place in commit order of the last transaction that has fresh events; None for none.
            One before it without END lost it; a BEGIN alone tells nothing, since a connector that
            starts again may send it again.
        unmarked: How many have fresh events and no mark.
    """

    collections: tuple[str, ...]
    newest: int | None
    unmarked: int


def gather(marks: DataFrame, events: DataFrame) -> DataFrame:
    """All transactions of which something landed, one row for each.

    Args:
        marks: What `load_marks` gave.
        events: `transaction, collection, total_order, fresh, is_new` of what has landed of them,
            at a second look also earlier; `fresh` is whether it is not applied yet, `is_new`
            whether nothing of its transaction can be.

    Returns:
        `transaction`, what its marks say (`marks`), whether it has such events, and `parts`: for
        each data collection how many events `landed`, whether an END `listed` it, and the `least`
        and the `most` events that ENDs count.
    """
    pieces = events
    for more in (said(marks), listed_collections(marks)):
        pieces = pieces.unionByName(more, allowMissingColumns=True)
    parts = pieces.groupBy("transaction", "collection").agg(
        *map(F.expr, _ALL),
        F.expr("count(DISTINCT total_order) AS landed"),
        F.expr("coalesce(bool_or(listed), false) AS listed"),
        F.expr("min(expected) AS least"),
        F.expr("max(expected) AS most"),
    )
    return (
        parts.groupBy("transaction")
        .agg(*map(F.expr, _ALL), F.expr(f"collect_list({_PART}) AS parts"))
        .withColumn("marks", F.expr("coalesce(marks, 0L)"))
        .withColumns({name: F.expr(f"{name} <=> true") for name in ("fresh", "is_new")})
    )


def survey(transactions: DataFrame) -> Survey:
    """Look at all that was gathered."""
    rows = (
        transactions.selectExpr(
            "if(fresh AND marks > 0, order, NULL) AS newest",
            "fresh AND marks = 0 AS unmarked",
            f"explode_outer({_LISTED}) AS name",
        )
        .groupBy("name")
        .agg(F.expr("max(newest) AS newest"), F.expr("count_if(unmarked) AS unmarked"))
        .collect()
    )
    return Survey(
        tuple(row["name"] for row in rows if row["name"] is not None),
        max((row["newest"] for row in rows if row["newest"] is not None), default=None),
        sum(row["unmarked"] for row in rows),
    )


def judge_transactions(
    transactions: DataFrame,
    newest: int | None,
    collections: Collection[str],
    deadline_ms: int,
    doubts: Doubts | None,
) -> DataFrame:
    """Each transaction with a mark: `transaction, order, whole, odd, short`, and its counts.

    `seen` is whether any of its events is among them.

    Args:
        transactions: What `gather` gave.
        newest: Of the `Survey`.
        collections: The data collections that ENDs of the batch name, and the source lands.
        deadline_ms: What began before it waits no longer, in milliseconds since the epoch.
        doubts: What the second look knows; None at the first one.
    """
    landed = f"p.collection IN ({', '.join(map(literal, collections))})" if collections else "false"
    missing = f"filter(parts, p -> {landed} AND p.landed < p.most)"
    is_newest_behind = "false" if newest is None else f"order < {newest}"
    odd = (
        f"CASE WHEN `end` IS NULL AND {is_newest_behind} THEN {literal(_LOST_END)} "
        f"WHEN short AND forall(missing, p -> {_is_overtaken(doubts)}) THEN {literal(_FEWER)} "
        f"WHEN (`end` IS NULL OR short) AND began_ms < {deadline_ms} THEN {literal(OVERDUE)} END"
    )
    return (
        transactions.where("marks > 0")
        .selectExpr("*", f"{missing} AS missing")
        .selectExpr("*", "size(missing) > 0 AS short")
        .selectExpr("*", f"{odd} AS odd")
        .selectExpr(
            *("transaction", "order", "odd", "short", "marks", "begin", "began_ms", "first_end"),
            *("miscounted", "is_new", "exists(parts, p -> p.landed > 0) AS seen"),
            "`end` IS NOT NULL AND NOT short OR odd IS NOT NULL AS whole",
            f"exists(parts, p -> {landed} AND p.landed > p.least) AS surplus",
            # A collection that no END names is one whose topic is called otherwise.
            f"`end` IS NOT NULL AND exists(parts, p -> {landed} AND p.most IS NULL) AS unlisted",
            "least_counts <> most_counts AS differing",
        )
    )


def _is_overtaken(doubts: Doubts | None) -> str:
    """Whether what is missing of a transaction's part `p` can never come, as a condition."""
    if doubts is None or not doubts.behind:
        return "false"
    everywhere, anywhere = (
        f"coalesce(element_at(map({_entries(doubts.behind, which)}), p.collection), -1L) > order"
        for which in (0, 1)
    )
    is_old = f"unix_micros(ended_at) < {doubts.newest_landing_us}"
    return f"({everywhere} OR {anywhere} AND {is_old})"


def _entries(behind: Mapping[str, tuple[int, int]], which: int) -> str:
    return ", ".join(f"{literal(name)}, {places[which]}L" for name, places in behind.items())


def summarise(states: DataFrame) -> Row:
    """How many transactions are what, and the place of the first that is not whole."""
    counted = states.agg(
        F.expr("min(if(whole, NULL, order)) AS first"),
        F.expr("count_if(whole) AS whole"),
        F.expr("count_if(NOT whole) AS waiting"),
        F.expr("count_if(short) AS short"),
        F.expr("count_if(short AND NOT is_new) AS doubtful"),
        F.expr("count_if(odd IS NOT NULL) AS odd"),
        F.expr("sum(marks) AS marks"),
        *(F.expr(f"count_if({test}) AS {name}") for name, test in CONDITIONS.items()),
    )
    return counted.collect()[0]
