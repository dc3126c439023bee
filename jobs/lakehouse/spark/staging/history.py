"""History: one row for each version of a source row, valid from one change to the next.

In: the judged events of a batch, unchanged large values resolved, and the versions stored of
their keys. Out: the versions that the batch adds or changes. Versions stand in the source's
order, whatever order they come in: an event that comes late takes its place between its
neighbours, an event that comes again is none.

Every change event is a version. A delete event is an empty one, from its position to its
position: a query for a point in the source's time never meets it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyspark.sql.functions as F
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.spark import tables
from lakehouse.spark.broadcasting import sent
from lakehouse.spark.decoding.truncates import Truncate, as_array
from lakehouse.spark.once import once
from lakehouse.spark.parsing.epochs import epoch_of
from lakehouse.spark.sql import literal
from lakehouse.spark.staging import silver
from lakehouse.spark.staging.version_order import PLACE, ended, filled, once_each, version_events
from lakehouse.spark.staging.writing import Work, fill_defaults

VERSION = "_version"
_FIELDS = {
    "op": "string",
    "valid_from": "timestamp",
    "valid_to": "timestamp",
    "is_current": "boolean",
    "from_position": "string",
    "to_position": "string",
    "epoch": "int",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "unchanged": "array<string>",
}
_COMMON = ("row_key", "op", "valid_from", "from_position", *PLACE, "image", "unchanged")


def version_name(plan: TablePlan) -> str:
    """The name of the struct that says when a version is valid."""
    return silver.free_name(VERSION, plan.columns)


def prepare(work: Work) -> None:
    """Create the table, or add and widen columns; repeating it is harmless."""
    kind = ",".join(f"{name}:{type_}" for name, type_ in _FIELDS.items())
    last = T.StructField(version_name(work.plan), T.DataType.fromDDL(f"struct<{kind}>"))
    silver.make_fit(work.spark, work.plan, work.plan.history_table, last)


def stage_history(work: Work, resolved: DataFrame, truncates: Sequence[Truncate]) -> bool:
    """Stage what a batch does to the history of one table.

    Args:
        work: The table and its branch.
        resolved: From `placeholders.resolve`, with `lacked`: the columns that the event left out.
        truncates: Those of the batch, oldest first.

    Returns:
        Whether the branch differs from `main`.
    """
    v = quote_ident(version_name(work.plan))
    begun = work.has_rows(work.plan.history_table)
    events = once(version_events(resolved, work.plan))
    lowest = events.agg(F.min("from_position")).collect()[0][0]
    has_rows = work.has_rows(work.plan.silver)
    fills = bool(work.plan.schema.add) and (begun or has_rows)
    if lowest is None and not truncates and not fills and (begun or not has_rows):
        return False
    work.check()
    work.begin(work.plan.history_table)
    if has_rows and not begun:
        _seed(work)
    if fills:
        fill_defaults(work, work.plan.history_table, f"{v}.op != {literal(DELETE)}")
    if truncates:
        _close_truncated(work, truncates)
    if lowest is not None:
        _write(work, _versions(work, events, lowest, truncates))
    return True


def _versions(
    work: Work, events: DataFrame, lowest: str, truncates: Sequence[Truncate]
) -> DataFrame:
    """Versions of the batch's keys that are new or end elsewhere than before."""
    new = events.selectExpr(*_COMMON, "is_known", "false AS is_stored", "NULL AS was_to")
    every = once_each(new.unionByName(_stored(work, events, lowest)))
    known = once(filled(every, work.plan))
    found = ended(known, _all_truncates(work, lowest, truncates))
    return found.where("NOT is_stored OR is_refilled OR NOT (end.position <=> was_to)")


def _stored(work: Work, events: DataFrame, lowest: str) -> DataFrame:
    """Stored versions of the batch's keys that end behind its first event; files are pruned."""
    plan, v = work.plan, quote_ident(version_name(work.plan))
    keys = events.groupBy("row_key").agg(F.expr("first(key) AS key"))
    image = ", ".join(f"{literal(n)}, s.{quote_ident(n)}" for n in plan.columns)
    return (
        work.spark.table(tables.full_name(plan.history_table, work.branch))
        .where(f"{v}.to_position IS NULL OR {v}.to_position >= {literal(lowest)}")
        .alias("s")
        .join(sent(keys.alias("k"), work.messages), silver.same_key(plan), "inner")
        .selectExpr(
            "k.row_key",
            *(f"s.{v}.{name}" for name in ("op", "valid_from", "from_position", *PLACE)),
            f"named_struct({image}) AS image",
            f"s.{v}.unchanged",
            "true AS is_known",
            "true AS is_stored",
            f"s.{v}.to_position AS was_to",
        )
    )


def _all_truncates(work: Work, lowest: str, truncates: Sequence[Truncate]) -> tuple[Truncate, ...]:
    """The batch's truncates and the applied ones that a version of the batch may end with."""
    if not work.has_rows(work.plan.state):
        return tuple(truncates)
    barriers = silver.barriers_from(work.spark, work.plan, lowest)
    return tuple(sorted([*barriers, *truncates], key=lambda truncate: truncate.position))


def _write(work: Work, versions: DataFrame) -> None:
    plan, v = work.plan, quote_ident(version_name(work.plan))
    changed = once(versions, eager=True)
    names = ("from_position", *PLACE)
    key = [quote_ident(name) for name in plan.key]
    own = ", ".join((*key, *(f"{v}.{name}" for name in names)))
    theirs = ", ".join((*(f"image.{name}" for name in key), *names))
    changed.where("is_stored").createOrReplaceTempView("changed_versions")
    condition = f"({own}) IN (SELECT {theirs} FROM changed_versions)"
    tables.delete_on_branch(work.spark, plan.history_table, work.branch, condition, work.summary)
    fields = {
        "valid_to": "end.ts",
        "is_current": "end IS NULL",
        "to_position": "end.position",
        "epoch": epoch_of("from_position"),
    }
    struct = ", ".join(f"{fields.get(name, name)} AS {name}" for name in _FIELDS)
    rows = changed.selectExpr("image.*", f"struct({struct}) AS {v}")
    tables.append_on_branch(rows.coalesce(1), plan.history_table, work.branch, work.summary)


def _close_truncated(work: Work, truncates: Sequence[Truncate]) -> None:
    """Versions that were valid when a truncate came end with it."""
    v = quote_ident(version_name(work.plan))
    behind = (
        f"t.position > {v}.from_position AND "
        f"({v}.to_position IS NULL OR t.position < {v}.to_position)"
    )
    taken = f"filter({as_array(truncates)}, t -> {behind})"
    is_open = f"{v}.to_position IS NULL OR {v}.to_position > {literal(truncates[0].position)}"
    values = (
        f"{v}.to_position = get({taken}, 0).position, "
        f"{v}.valid_to = timestamp_millis(get({taken}, 0).source_ts_ms), {v}.is_current = false"
    )
    where = f"({is_open}) AND {v}.op != {literal(DELETE)} AND size({taken}) > 0"
    table = work.plan.history_table
    tables.update_on_branch(work.spark, table, work.branch, values, work.summary, where=where)


def _seed(work: Work) -> None:
    """A history that begins later begins with the rows that silver has."""
    plan, cdc = work.plan, quote_ident(silver.cdc_name(work.plan.columns))
    fields = {
        "op": f"{cdc}.op",
        "valid_from": f"{cdc}.source_ts",
        "valid_to": "CAST(NULL AS timestamp)",
        "is_current": "true",
        "from_position": f"{cdc}.position",
        "to_position": "CAST(NULL AS string)",
        "unchanged": "CAST(array() AS array<string>)",
    }
    struct = ", ".join(f"{fields.get(name, f'{cdc}.{name}')} AS {name}" for name in _FIELDS)
    rows = (
        tables.at_ref(work.spark, plan.silver, plan.base)
        .where(silver.is_live(cdc))
        .selectExpr(
            *(quote_ident(name) for name in plan.columns),
            f"struct({struct}) AS {quote_ident(version_name(plan))}",
        )
    )
    tables.append_on_branch(rows, plan.history_table, work.branch, work.summary)
