"""Held keys: what a quarantined event means for the later events of its key.

In: the judged events of a batch, and the marks of earlier quarantined events in the state table.
Out: the events, with those quarantined too that would keep an unchanged value from at or before a
quarantined event, and the marks as they are afterwards. A mark stands for one quarantined event
that is newer than what silver has of its key; a newer image, delete or truncate heals the key.

Marks take part as rows among the events, so that one rule decides, whatever the batches: what
counts is the order of positions, not which batch an event came with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from lakehouse.envelope import CREATE, DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import TablePlan, TopicPartition
from lakehouse.spark import tables
from lakehouse.spark.decoding.truncates import Truncate, as_array
from lakehouse.spark.once import once
from lakehouse.spark.sql import all_of, literal
from lakehouse.spark.staging import silver
from lakehouse.spark.staging.collapse import NEW, QUARANTINED

HELD_KEY = "held_key"
_EVENT = ("row_key", "topic", "partition", "offset")
_MARK = (*_EVENT, "position", "reason", "source_ts_ms")
_IS_NEW = f"verdict = {literal(NEW)}"
_LACKS_VALUES = f"{_IS_NEW} AND op != {literal(DELETE)} AND size(unavailable) > 0"
# A create event that lacks values is a key change: they are those of the row's old key.
_IS_MOVED = f"{_LACKS_VALUES} AND op = {literal(CREATE)}"
_IS_PARTIAL = f"{_LACKS_VALUES} AND op != {literal(CREATE)}"


@dataclass(frozen=True, slots=True)
class Holds:
    """The events of a batch and the keys that are held after it.

    Attributes:
        events: As `collapse.judge_events` gives them.
        verdicts: Verdict → topic partition → how many of them have it.
        marks: `row_key, topic, partition, offset, position, reason, source_ts_ms`, and whether
            each `was` there before and `stays`; None where nobody had to look.
        fresh: How many marks are new.
        gone: How many marks are no longer needed.
        keys: How many keys of the table are held.
    """

    events: DataFrame
    verdicts: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    marks: DataFrame | None = None
    fresh: int = 0
    gone: int = 0
    keys: int = 0

    @property
    def changed(self) -> bool:
        """Whether the state table's marks differ from before."""
        return bool(self.fresh or self.gone)


def hold_keys(
    spark: SparkSession, plan: TablePlan, judged: DataFrame, truncates: Sequence[Truncate]
) -> Holds:
    """Decide which keys are held; only for tables that have a key.

    Args:
        spark: The session.
        plan: The table, and how many of its keys are held.
        judged: From `collapse.judge_events`.
        truncates: Those of the batch, oldest first.
    """
    stored = _stored(spark, plan) if plan.held else None
    rows = judged.selectExpr("*", f"{_holds(plan)} AS holds", "false AS is_mark")
    if stored is not None:
        # What is judged again, in a replay, is not also held by its own mark.
        marks = stored.join(judged.select(*_EVENT[1:]), list(_EVENT[1:]), "left_anti")
        marks = marks.selectExpr("*", "1 AS half", "true AS holds", "true AS is_mark")
        rows = rows.unionByName(marks, allowMissingColumns=True)
    if plan.placeholders:
        rows = _followed(rows, truncates)
    events = rows.where("NOT is_mark").select(*judged.columns)
    marks = once(_marks(rows, stored, truncates))
    counts = marks.selectExpr(
        "count_if(stays AND NOT was) AS fresh",
        "count_if(was AND NOT stays) AS gone",
        "count(DISTINCT if(stays, row_key, NULL)) AS keys",
    ).collect()[0]
    return Holds(events, marks=marks, **counts.asDict())


def _stored(spark: SparkSession, plan: TablePlan) -> DataFrame:
    rows = tables.at_ref(spark, plan.state, plan.base).where(f"kind = {literal(silver.HELD)}")
    return rows.selectExpr(
        "key AS row_key",
        *_EVENT[1:],
        "position",
        "cause AS reason",
        "unix_millis(source_ts) AS source_ts_ms",
    )


def _holds(plan: TablePlan) -> str:
    """Whether an event holds its key: it is quarantined, newer than silver, its key readable."""
    has_key = (f"key.{quote_ident(name)} IS NOT NULL" for name in plan.key)
    return all_of((f"verdict = {literal(QUARANTINED)}", "is_newer", *has_key))


def _followed(rows: DataFrame, truncates: Sequence[Truncate]) -> DataFrame:
    """With the events quarantined that follow on a quarantined one.

    Each round follows one key change further; most batches have none that a hold reaches.
    """
    moved, before = 0, -1
    while moved > before:
        before = moved
        rows = once(_follow(rows, truncates), eager=True)
        reached = f"holds AND reason = {literal(HELD_KEY)} AND op = {literal(CREATE)}"
        moved = rows.where(reached).count()
    return rows


def _follow(rows: DataFrame, truncates: Sequence[Truncate]) -> DataFrame:
    full = f"{_IS_NEW} AND NOT ({_IS_PARTIAL})"
    sign = f"CASE WHEN holds OR ({full}) THEN struct(holds, position) END"
    behind = (
        "OVER (PARTITION BY row_key ORDER BY position, offset, half "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    )
    between = "t -> t.position >= prior.position AND t.position < position"
    is_cut_off = f"exists({as_array(truncates)}, {between})" if truncates else "false"
    placed = rows.selectExpr("*", f"last({sign}, true) {behind} AS prior").selectExpr(
        "*", f"coalesce(prior.holds AND NOT {is_cut_off}, false) AS follows"
    )
    left = placed.where(f"{_IS_NEW} AND op = {literal(DELETE)} AND follows")
    left = left.groupBy("change").agg(F.collect_set("row_key").alias("left_keys"))
    reached = placed.join(left, "change", "left").selectExpr(
        *rows.columns,
        f"coalesce(if({_IS_MOVED}, exists(left_keys, k -> k != row_key), "
        f"{_IS_PARTIAL} AND follows), false) AS reached",
    )
    quarantined = {
        "holds": "holds OR reached",
        "verdict": f"if(reached, {literal(QUARANTINED)}, verdict)",
        "reason": f"if(reached, {literal(HELD_KEY)}, reason)",
    }
    return reached.selectExpr(
        *(f"{quarantined.get(name, name)} AS {name}" for name in rows.columns)
    )


def _marks(rows: DataFrame, stored: DataFrame | None, truncates: Sequence[Truncate]) -> DataFrame:
    """Each mark that was or that stays, for nothing newer of its key was applied."""
    place = "struct(position, offset, half)"
    newest = f"max(if({_IS_NEW}, {place}, NULL)) OVER (PARTITION BY row_key) AS newest"
    truncate = truncates[-1].position if truncates else ""
    stays = f"holds AND position > {literal(truncate)} AND coalesce({place} > newest, true)"
    marks = rows.selectExpr("*", newest).where(stays)
    marks = marks.selectExpr(*_MARK, "false AS was", "true AS stays")
    if stored is not None:
        marks = marks.unionByName(stored.selectExpr(*_MARK, "true AS was", "false AS stays"))
    rest = [name for name in marks.columns if name not in _EVENT]
    return marks.groupBy(*_EVENT).agg(*(F.expr(f"max({name}) AS {name}") for name in rest))
