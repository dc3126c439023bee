"""Unchanged large values: keep what the row had, in the batch, in silver, or under its old key.

In: judged change events, some of which lack columns (`unavailable`). Out: the same events with
those columns filled. A connector leaves out a large value that did not change; the row's earlier
image has it. After a key change the earlier image stands under the old key, whose delete event has
the same position. What cannot be found stays null and stays listed in `unavailable`.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, Window

from lakehouse.envelope import CREATE, DELETE
from lakehouse.names import quote_ident
from lakehouse.spark.collapse import NEW


def resolve(judged: DataFrame, columns: list[str]) -> DataFrame:
    """Fill unavailable values of new events from earlier images.

    Args:
        judged: From `collapse.judge_events`.
        columns: The image's columns, as stored.
    """
    lacking = _lacking(judged, columns)
    if not lacking:
        return judged
    filled = _from_same_key(judged, lacking).localCheckpoint(eager=True)
    waiting = _awaiting_old_key(filled).count()
    while waiting:
        # Each round follows one key change further back, until a round finds nothing.
        before = waiting
        older = _from_same_key(_from_old_key(filled, lacking), lacking)
        filled = older.localCheckpoint(eager=True)
        waiting = _awaiting_old_key(filled).count()
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
        .orderBy("position", "offset")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    known = {}
    for name in lacking:
        value = _field("image", name)
        seen = (
            F.when(F.col("verdict") != NEW, None)
            .when(_is_awaiting(), F.struct(F.lit(False).alias("has"), value.alias("value")))
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
    deletes = rows.where((F.col("op") == DELETE) & (F.col("verdict") == NEW)).select(
        F.col("row_key").alias("old_key"),
        F.col("position").alias("at"),
        F.when(F.col("live"), F.col("stored_image")).alias("old_stored"),
    )
    images = rows.where((F.col("op") != DELETE) & (F.col("verdict") == NEW)).select(
        F.col("row_key").alias("old_key"),
        F.col("position").alias("before"),
        F.struct("image", "unavailable").alias("earlier"),
    )
    last = (
        deletes.join(images, "old_key", "left")
        .groupBy("old_key", "at")
        .agg(
            F.max_by(
                F.when(F.col("before") < F.col("at"), F.col("earlier")),
                F.when(F.col("before") < F.col("at"), F.col("before")),
            ).alias("earlier"),
            F.first("old_stored").alias("old_stored"),
        )
    )
    joined = rows.join(
        last, (F.col("position") == F.col("at")) & (F.col("row_key") != F.col("old_key")), "left"
    )
    known = {name: _old_value(name) for name in lacking}
    done = _filled(joined, known, _is_awaiting())
    return done.select(*rows.columns)


def _old_value(name: str) -> Column:
    in_batch = F.struct(
        (~F.array_contains("earlier.unavailable", name.lower())).alias("has"),
        _field("earlier.image", name).alias("value"),
    )
    in_silver = F.struct(
        F.col("old_stored").isNotNull().alias("has"), _field("old_stored", name).alias("value")
    )
    return F.when(F.col("earlier").isNotNull(), in_batch).otherwise(in_silver)


def _awaiting_old_key(rows: DataFrame) -> DataFrame:
    """Create events that still lack values and whose old key is in the batch, with its values."""
    deletes = rows.where((F.col("op") == DELETE) & (F.col("verdict") == NEW)).select(
        F.col("position").alias("at"), F.col("row_key").alias("old_key")
    )
    return rows.where(_is_awaiting()).join(
        deletes,
        (F.col("position") == F.col("at")) & (F.col("row_key") != F.col("old_key")),
        "left_semi",
    )


def _is_awaiting() -> Column:
    return (F.col("op") == CREATE) & (F.size("unavailable") > 0) & (F.col("verdict") == NEW)


def _filled(rows: DataFrame, known: dict[str, Column], where: Column | None = None) -> DataFrame:
    """Set each lacking column to its known value and strike it off the list."""
    applies = F.lit(True) if where is None else where
    names = list(known)
    found = rows.select(
        "*", *(known[name].alias(f"known_{index}") for index, name in enumerate(names))
    )
    image, unavailable = F.col("image"), F.col("unavailable")
    for index, name in enumerate(names):
        has = _lacks(name) & applies & F.coalesce(F.col(f"known_{index}.has"), F.lit(False))
        value = F.when(has, F.col(f"known_{index}.value")).otherwise(_field("image", name))
        image = F.when(F.col("image").isNotNull(), image.withField(quote_ident(name), value))
        unavailable = F.when(has, F.array_remove(unavailable, name.lower())).otherwise(unavailable)
    return found.withColumns({"image": image, "unavailable": unavailable}).select(*rows.columns)


def _lacks(name: str) -> Column:
    return F.array_contains("unavailable", name.lower())


def _field(struct: str, name: str) -> Column:
    return F.col(f"{struct}.{quote_ident(name)}")
