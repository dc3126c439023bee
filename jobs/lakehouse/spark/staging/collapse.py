"""Collapse: the last change of each key by position, guarded by what is stored.

In: typed change events of one table, the stored positions of their keys, barriers. Out: what
becomes of each event (`verdict`), and one winner per key. An event counts when its position is
greater than the last one applied to its key (`design.md` §3). At an equal position the later
offset of the same topic partition counts, unless it is the same event again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.envelope import CREATE, DELETE, READ, UPDATE
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.spark.broadcasting import sent
from lakehouse.spark.sql import all_of, literal

NEW, SUPERSEDED, QUARANTINED = "new", "superseded", "quarantined"
# Superseded too: it stands behind what is newer, and never came before.
OUTDATED = "outdated"
VERDICTS = (NEW, SUPERSEDED, OUTDATED, QUARANTINED)
_ORDER = "struct(position, offset, half)"
_IS_NEW = f"verdict = {literal(NEW)}"
_IS_GONE = f"op = {literal(DELETE)}"
_CAME = f"(op = {literal(CREATE)} OR (op = {literal(UPDATE)} AND moves))"
_EVENT = ("key", "op", "position", "topic", "partition", "offset", "source_ts_ms", "image")
# A commit may move one row to the key of another before it moves that one: `SET id = id + 1` where
# keys are unique once the statement or the transaction ends (Oracle, Db2, deferrable constraints).
_SHIFTED_AT = (
    f"if(e.op = {literal(DELETE)} AND e.moves AND came.moves AND reads = 0 "
    "AND e.had + balance > 0 "
    "AND substring_index(came.position, '.', 1) = substring_index(e.position, '.', 1), "
    "struct(came.position, came.offset, came.half), NULL)"
)
# The first thing that the batch tells of a key contradicts what came before: a row is created that
# is there, or changed that never came. Halves of key changes tell no such thing.
_RECREATED = f"first.op = {literal(CREATE)} AND NOT first.moves"
_UNKNOWN = (
    f"first.op = {literal(UPDATE)} AND NOT first.moves AND e.stored_position IS NULL AND reads = 0"
)
_NO_TALLIES: Mapping[str, str] = MappingProxyType({})
_NO_SHIFT = "CAST(NULL AS struct<position: string, offset: bigint, half: int>)"


def judge_events(rows: DataFrame, stored: DataFrame, barrier: str, *, is_bag: bool) -> DataFrame:
    """Give each event a verdict, and what its key has in silver.

    Args:
        rows: From `events.table_rows`.
        stored: From `stored.stored_state`.
        barrier: Position of the newest truncate that is applied already; empty for none.
        is_bag: Whether a source snapshot may read equal rows, which have one position too.

    Returns:
        The rows with `verdict, repeated, is_newer, had, live, standing, places, stored_position,
        stored_image`; `repeated` events are in bronze or in the batch already, `is_newer` says of
        any event, quarantined or not, that it is newer than what silver has of its key.
    """
    older = f"position < coalesce(stored_position, '') OR NOT ({_survives(barrier)})"
    follows = "topic = stored_at.topic AND partition = stored_at.partition"
    repeats = f"position = stored_position AND NOT ({follows} AND offset > stored_at.offset)"
    # By the key alone, by which the events are grouped next: rows are wide to exchange and to sort.
    same = "position, change, topic, partition, op, total_order, image_hash"
    before = f"lag(struct({same})) OVER (PARTITION BY row_key ORDER BY {same}, offset)"
    repeats_it = f"{before} <=> struct({same})"
    again = f"(op != {literal(READ)} AND {repeats_it})" if is_bag else repeats_it
    is_older = f"coalesce(redelivered OR {older} OR ({repeats}) OR {again}, false)"
    falls = f"{follows} AND offset > stored_at.offset AND position < stored_position"
    explained = f"redelivered OR {again} OR op = {literal(READ)} OR position <= {literal(barrier)}"
    is_outdated = "false" if is_bag else f"{falls} AND NOT ({explained})"
    verdict = (
        f"CASE WHEN reason IS NOT NULL THEN {literal(QUARANTINED)} "
        f"WHEN {is_outdated} THEN {literal(OUTDATED)} "
        f"WHEN {is_older} THEN {literal(SUPERSEDED)} ELSE {literal(NEW)} END AS verdict"
    )
    return rows.join(stored, "row_key", "left").selectExpr(
        *rows.columns,
        "stored_position",
        "coalesce(had, 0) AS had",
        "coalesce(had, 0) > 0 AS live",
        "coalesce(standing, false) AS standing",
        "places",
        "stored_image",
        f"redelivered OR {again} AS repeated",
        f"NOT {is_older} AS is_newer",
        verdict,
    )


def _survives(truncate: str, row: str = "") -> str:
    """Whether an event comes after a truncate; a snapshot that reads there reads what is left."""
    at, is_read = literal(truncate), f"{row}op = {literal(READ)}"
    return f"({row}position > {at} OR ({row}position = {at} AND {is_read}))"


def whole_events(rows: DataFrame) -> DataFrame:
    """An update that is two halves is quarantined as a whole, whichever of them is bad."""
    event = "OVER (PARTITION BY topic, partition, offset)"
    rest = [name for name in rows.columns if name not in ("reason", "bad")]
    return rows.selectExpr(
        *rest,
        f"max(reason) {event} AS reason",
        f"array_distinct(flatten(collect_list(bad) {event})) AS bad",
    )


def winners(
    judged: DataFrame, truncate: str, plan: TablePlan, tallies: Mapping[str, str] = _NO_TALLIES
) -> DataFrame:
    """The last new event of each key.

    Args:
        judged: From `judge_events`, with unchanged large values resolved.
        truncate: Position of the newest truncate of the batch; events before it are gone.
        plan: The table. In a bag a key may have several rows, so that each event adds or takes
            one; a table that keeps deleted rows needs what they were.
        tallies: Name → condition: how many events of each key fulfil it, new or not. A key without
            a new event has a row then, too, whose `position` is NULL.

    Returns:
        `row_key, key, op, position, topic, partition, offset, source_ts_ms, image, snapshot,
        unavailable, had, standing, places, marked, shifted_at, copies, recreated, unknown, kept`;
        `copies` says how many live rows the key has afterwards, `kept` whether it has any,
        `recreated` that a row was created that was there, `unknown` that one changed that never
        came; `shifted_at` is for `unshifted`.
        With `soft` also `last_image`: what the row was last, before the batch or in it.
    """
    fields = (*_EVENT, "snapshot", "unavailable", "had", "standing", "places")
    told = {
        **_measures(fields, truncate, plan, (_IS_NEW,) if tallies else ()),
        **{name: f"count_if({test})" for name, test in tallies.items()},
    }
    measures = (F.expr(f"{text} AS {name}") for name, text in told.items())
    looked_at = judged if tallies else judged.where(_IS_NEW)
    folded = looked_at.groupBy("row_key").agg(*measures)
    is_there = f"int(e.op != {literal(DELETE)} AND {_survives(truncate, 'e.')})"
    base = f"if(coalesce(e.stored_position, '') > {literal(truncate)}, e.had, 0)"
    copies = f"greatest({base} + step, 0)" if plan.is_bag else is_there
    odd = {"recreated": f"{_RECREATED} AND {base} > 0", "unknown": _UNKNOWN}
    return folded.selectExpr(
        "row_key",
        *(f"e.{name}" for name in fields),
        *(("coalesce(last_image, e.stored_image) AS last_image",) if plan.soft else ()),
        "e.stored_position IS NOT NULL AND NOT e.standing AS marked",
        f"{_NO_SHIFT if plan.is_bag or truncate else _SHIFTED_AT} AS shifted_at",
        f"bigint({copies}) AS copies",
        *(f"NOT {plan.is_bag} AND coalesce({test}, false) AS {name}" for name, test in odd.items()),
        *tallies,
    ).selectExpr("*", "copies > 0 AS kept")


def _measures(
    fields: Sequence[str], truncate: str, plan: TablePlan, counts: tuple[str, ...]
) -> dict[str, str]:
    """Name → aggregate over the events of a key that fulfil the conditions `counts`."""
    newer = _survives(truncate)
    event = ", ".join((*fields, "moves", "stored_position", "stored_image"))
    step = f"CASE WHEN NOT ({newer}) THEN 0 WHEN {_IS_GONE} THEN -1 ELSE 1 END"

    def of(aggregate: str, *more: str) -> str:
        tests = (*counts, *more)
        return f"{aggregate} FILTER (WHERE {all_of(tests)})" if tests else aggregate

    measures = {
        "e": of(f"max_by(struct({event}), {_ORDER})"),
        "step": of(f"sum({step})"),
        "first": of(f"min_by(struct(op, moves), {_ORDER})", newer),
        "came": of(f"max_by(struct(moves, position, offset, half), {_ORDER})", _CAME),
        "balance": f"{of('count(*)', _CAME)} - {of('count(*)', _IS_GONE)}",
        "reads": of("count(*)", f"op = {literal(READ)}"),
    }
    if plan.soft:
        measures["last_image"] = of(f"max_by(image, {_ORDER})", f"NOT ({_IS_GONE})")
    return measures


def unshifted(judged: DataFrame, folded: DataFrame, count: int) -> DataFrame:
    """The events, without the deletes of rows whose key another row had got before.

    What left the key is the row that had it before the commit, though the log has it last; what
    came stays, as the balance of the key says.

    Args:
        judged: From `judge_events`, with unchanged large values resolved.
        folded: From `winners` of the same events.
        count: How many keys have such deletes.
    """
    shifted = folded.where("shifted_at IS NOT NULL").select("row_key", "shifted_at")
    is_gone = (
        f"op = {literal(DELETE)} AND shifted_at IS NOT NULL AND verdict = {literal(NEW)} "
        f"AND {_ORDER} > shifted_at"
    )
    rest = [name for name in judged.columns if name not in ("verdict", "repeated")]
    return judged.join(sent(shifted, count), "row_key", "left").selectExpr(
        *rest,
        f"repeated OR coalesce({is_gone}, false) AS repeated",
        f"if({is_gone}, {literal(SUPERSEDED)}, verdict) AS verdict",
    )
