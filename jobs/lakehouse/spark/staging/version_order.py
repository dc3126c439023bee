"""Versions of rows put into the source's order: pure functions of DataFrames.

In: the judged events of a batch, and the versions stored of their keys. Out: each version with
the values that its event left out, and where it ends.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.envelope import CREATE, DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.spark.decoding.truncates import Truncate, as_array
from lakehouse.spark.sql import any_of, literal
from lakehouse.spark.staging.collapse import NEW

PLACE = ("topic", "partition", "offset")
_ORDER = "PARTITION BY row_key ORDER BY from_position, offset"
_IS_DELETE = f"op = {literal(DELETE)}"
# Nothing that is new comes before it: what it has carried over stays.
_IS_SETTLED = (
    "is_stored AND from_position < "
    "min(if(is_stored, NULL, from_position)) OVER (PARTITION BY row_key)"
)


def version_events(resolved: DataFrame, plan: TablePlan) -> DataFrame:
    """Each change event once; of a delete only the key is known."""
    gone = ", ".join(
        f"{literal(name)}, "
        + (f"key.{quote_ident(name)}" if name in plan.key else f"CAST(NULL AS {kind})")
        for name, kind in plan.columns.items()
    )
    # An update that is two halves is one event where both are of one key.
    same = "PARTITION BY row_key, topic, partition, offset ORDER BY half DESC"
    return (
        resolved.where("reason IS NULL AND NOT repeated")
        .selectExpr("*", f"row_number() OVER ({same}) AS nth")
        .where("nth = 1")
        .selectExpr(
            "row_key",
            "key",
            "op",
            "timestamp_millis(source_ts_ms) AS valid_from",
            "position AS from_position",
            *PLACE,
            f"if({_IS_DELETE}, named_struct({gone}), image) AS image",
            "lacked AS unchanged",
            f"verdict = {literal(NEW)} AS is_known",
        )
    )


def once_each(versions: DataFrame) -> DataFrame:
    """Each version once: an event may stand in two topic partitions, after some were added.

    A replay may also judge an event again whose version is stored.

    Args:
        versions: New ones and those that are stored (`is_stored`).
    """
    first = (
        "min(struct(NOT is_stored AS n, topic, partition)) "
        "OVER (PARTITION BY row_key, from_position) AS f"
    )
    event = f"PARTITION BY row_key, from_position, {', '.join(PLACE)} ORDER BY is_stored DESC"
    return (
        versions.selectExpr("*", first, f"row_number() OVER ({event}) AS nth")
        .where("topic = f.topic AND partition = f.partition AND nth = 1")
        .drop("f", "nth")
    )


def filled(versions: DataFrame, plan: TablePlan) -> DataFrame:
    """Values that an event left out, from the version before it."""
    lacking = {
        row["name"]
        for row in versions.select(F.explode("unchanged").alias("name")).distinct().collect()
    }
    names = [name for name in plan.columns if name.lower() in lacking]
    if not names:
        return versions.selectExpr("*", "false AS is_refilled")
    before = f"({_ORDER} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    known = versions.selectExpr("*", f"{_IS_SETTLED} AS is_settled").selectExpr(
        "*", *(f"{_last_known(name)} OVER {before} AS known_{i}" for i, name in enumerate(names))
    )
    values = {name: _value(name, f"known_{i}") for i, name in enumerate(names)}
    image = ", ".join(
        f"{literal(name)}, {values.get(name, f'image.{quote_ident(name)}')}"
        for name in plan.columns
    )
    differs = any_of(f"NOT ({values[n]} <=> image.{quote_ident(n)})" for n in names)
    rest = [name for name in versions.columns if name != "image"]
    return known.selectExpr(*rest, f"named_struct({image}) AS image", f"{differs} AS is_refilled")


def _last_known(name: str) -> str:
    value = f"struct(NOT ({_IS_DELETE}) AS has, image.{quote_ident(name)} AS value)"
    return f"last(if({_lacks(name)} AND NOT is_settled, NULL, {value}), true)"


def _value(name: str, known: str) -> str:
    own = f"image.{quote_ident(name)}"
    carried = f"if({known}.has, {known}.value, if(is_known, {own}, NULL))"
    # What came from another key has that row's value, which is found already.
    return f"if({_lacks(name)} AND op != {literal(CREATE)}, {carried}, {own})"


def _lacks(name: str) -> str:
    return f"array_contains(unchanged, {literal(name.lower())})"


def ended(versions: DataFrame, truncates: Sequence[Truncate]) -> DataFrame:
    """Each version with its `end`, a struct of `position` and `ts`; NULL for one that is valid.

    Args:
        versions: All of their keys from the first new one on.
        truncates: Those that a version may end with, oldest first.
    """
    following = f"lead(struct(from_position AS position, valid_from AS ts)) OVER ({_ORDER}) AS next"
    return versions.selectExpr("*", following).selectExpr("*", f"{_end(truncates)} AS end")


def _end(truncates: Sequence[Truncate]) -> str:
    """Where a version ends: with its next one, or a truncate between."""
    own = "struct(from_position AS position, valid_from AS ts)"
    if not truncates:
        return f"if({_IS_DELETE}, {own}, next)"
    behind = "t.position >= from_position AND (next IS NULL OR t.position < next.position)"
    taken = (
        f"filter({as_array(truncates)}, t -> {behind})",
        "t -> struct(t.position AS position, timestamp_millis(t.source_ts_ms) AS ts)",
    )
    first = f"get(transform({', '.join(taken)}), 0)"
    return f"if({_IS_DELETE}, {own}, coalesce({first}, next))"
