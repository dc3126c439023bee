"""Unchanged large values: keep what the row had, in the batch, in silver, or under its old key.

In: judged change events, some of which lack columns (`unavailable`). Out: the same events with
those columns filled. A connector leaves out a large value that did not change; the row's earlier
image has it. After a key change the earlier image stands under the old key, whose delete event is
of the same change. What cannot be found stays null and stays listed in `unavailable`.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, Window

from lakehouse.envelope import CREATE, DELETE
from lakehouse.names import quote_ident
from lakehouse.spark.once import once
from lakehouse.spark.staging.collapse import NEW

_PLACE = ("topic", "partition", "offset")


def resolve(judged: DataFrame, columns: list[str]) -> DataFrame:
    """Fill unavailable values of new events from earlier images.

    Args:
        judged: From `collapse.judge_events`.
        columns: The image's columns, as stored.
    """
    lacking = _lacking(judged, columns)
    if not lacking:
        return judged
    filled = once(_from_same_key(judged, lacking), eager=True)
    waiting = _pairs(filled).count()
    while waiting:
        # Each round follows one key change further back, until a round finds nothing.
        before = waiting
        older = _from_same_key(_from_old_key(filled, lacking), lacking)
        filled = once(older, eager=True)
        waiting = _pairs(filled).count()
        if waiting >= before:
            break
    return filled


def _lacking(judged: DataFrame, columns: list[str]) -> list[str]:
    rows = judged.select(F.explode("unavailable").alias("name")).distinct().collect()
    names = {row["name"] for row in rows}
    return [name for name in columns if name.lower() in names]


def _from_same_key(rows: DataFrame, lacking: list[str]) -> DataFrame:
    """Fill from the key's last image before, in the batch or in silver.

    A create event that lacks a value is a key change: what the new key had before is another row's.
    """
    order = (
        Window.partitionBy("row_key")
        .orderBy("position", "offset", "half")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    known = {}
    for name in lacking:
        value = _field("image", name)
        seen = (
            F.when(F.col("verdict") != NEW, None)
            .when(_is_awaiting(), F.struct(F.lit(False).alias("has"), value.alias("value")))
            # The row before an update is the row that goes on.
            .when((F.col("op") == DELETE) & ~F.col("counted"), None)
            .when(F.col("op") == DELETE, F.struct(F.lit(False).alias("has"), value.alias("value")))
            .when(~_lacks(name), F.struct(F.lit(True).alias("has"), value.alias("value")))
        )
        last = F.last(seen, ignorenulls=True).over(order)
        from_silver = F.struct(
            F.col("live").alias("has"), _field("stored_image", name).alias("value")
        )
        known[name] = F.coalesce(last, from_silver)
    return _filled(rows, known, ~_is_awaiting())


def _from_old_key(rows: DataFrame, lacking: list[str]) -> DataFrame:
    """Fill create events of a key change from the last image of the old key."""
    pairs = _pairs(rows)
    images = rows.where((F.col("op") != DELETE) & (F.col("verdict") == NEW)).select(
        F.col("row_key").alias("old_key"),
        F.struct("position", "offset").alias("before"),
        F.struct("image", "unavailable").alias("earlier"),
    )
    is_earlier = F.col("before") < F.col("at")
    last = (
        pairs.join(images, "old_key", "left")
        .groupBy(*_PLACE)
        .agg(
            F.max_by(
                F.when(is_earlier, F.col("earlier")), F.when(is_earlier, F.col("before"))
            ).alias("earlier"),
            F.first("old_stored").alias("old_stored"),
        )
    )
    known = {name: _old_value(name) for name in lacking}
    done = _filled(rows.join(last, list(_PLACE), "left"), known, _is_awaiting())
    return done.select(*rows.columns)


def _pairs(rows: DataFrame) -> DataFrame:
    """Create events that lack values, each with the delete event of its old key.

    Both are one change; where several keys changed at one position, their order in the transaction
    tells which, and where nothing tells no value is taken: it could be another row's.

    Returns:
        `topic, partition, offset` of the create event, `old_key`, `at` (the delete event's
        position and offset: a position may be that of all events of a commit) and `old_stored`
        (what silver has under the old key).
    """
    deletes = (
        rows.where((F.col("op") == DELETE) & (F.col("verdict") == NEW))
        .groupBy(F.col("row_key").alias("old_key"), "change", F.col("total_order").alias("gone"))
        .agg(
            F.min(F.struct("position", "offset")).alias("at"),
            F.first(F.when(F.col("live"), F.col("stored_image"))).alias("old_stored"),
        )
    )
    moved = rows.where(_is_awaiting()).select(*_PLACE, "change", "row_key", "total_order")
    is_next = F.coalesce(F.col("gone") + 1 == F.col("total_order"), F.lit(True))
    found = moved.join(deletes, "change").where((F.col("row_key") != F.col("old_key")) & is_next)
    return (
        found.groupBy(*_PLACE)
        .agg(
            F.count_distinct("old_key").alias("keys"),
            *(F.min_by(name, "at").alias(name) for name in ("old_key", "old_stored")),
            F.min("at").alias("at"),
        )
        .where("keys = 1")
    )


def _old_value(name: str) -> Column:
    in_batch = F.struct(
        (~F.array_contains("earlier.unavailable", name.lower())).alias("has"),
        _field("earlier.image", name).alias("value"),
    )
    in_silver = F.struct(
        F.col("old_stored").isNotNull().alias("has"), _field("old_stored", name).alias("value")
    )
    return F.when(F.col("earlier").isNotNull(), in_batch).otherwise(in_silver)


def _is_awaiting() -> Column:
    return (F.col("op") == CREATE) & (F.size("unavailable") > 0) & (F.col("verdict") == NEW)


def _filled(rows: DataFrame, known: dict[str, Column], where: Column | None = None) -> DataFrame:
    """Set each lacking column to its known value and strike it off the list."""
    applies = F.lit(True) if where is None else where
    # Each expression stands once: one that is made of itself for each column grows without end.
    found = rows.select("*", *(value.alias(f"known_{n}") for n, value in enumerate(known.values())))
    has = {
        f"has_{n}": _lacks(name) & applies & F.coalesce(F.col(f"known_{n}.has"), F.lit(False))
        for n, name in enumerate(known)
    }
    found = found.withColumns(has)
    image, struck = F.col("image"), []
    for n, name in enumerate(known):
        value = F.when(F.col(f"has_{n}"), F.col(f"known_{n}.value")).otherwise(
            _field("image", name)
        )
        image = image.withField(quote_ident(name), value)
        struck.append(F.when(F.col(f"has_{n}"), F.lit(name.lower())))
    filled = {
        "image": F.when(F.col("image").isNotNull(), image),
        "unavailable": F.array_except("unavailable", F.array_compact(F.array(*struck))),
    }
    return found.withColumns(filled).select(*rows.columns)


def _lacks(name: str) -> Column:
    return F.array_contains("unavailable", name.lower())


def _field(struct: str, name: str) -> Column:
    return F.col(f"{struct}.{quote_ident(name)}")
