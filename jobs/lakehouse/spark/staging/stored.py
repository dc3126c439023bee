"""What silver and its state table have for the keys of a batch, and where it stands.

In: a table's plan and keys. Out: one row for each key that is known, to be judged by (`collapse`)
and to be replaced (`small_change`). Where the whole batch is behind all that is applied, no column
but the key's is read of a table: what is found is older, whatever its position.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, SparkSession

from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.spark import tables
from lakehouse.spark.decoding.values import decode_default
from lakehouse.spark.rows import key_text, row_key
from lakehouse.spark.sql import literal
from lakehouse.spark.staging import silver

_PLACES_TYPE = "array<struct<file:string,pos:bigint>>"
_PLACE = "struct(_file AS file, _pos AS pos)"
_NOWHERE = "CAST(NULL AS struct<topic:string,partition:int,offset:bigint>)"


def stored_state(
    spark: SparkSession,
    plan: TablePlan,
    keys: DataFrame | None,
    *,
    with_image: bool,
    has_state: bool,
) -> DataFrame:
    """What silver and its state table have for given keys.

    Args:
        spark: The session.
        plan: The table.
        keys: `row_key, key`, each key once; small enough to be sent to every task. None for all
            that there are.
        with_image: Whether the rows' images are needed too.
        has_state: Whether the state table has rows at all.

    Returns:
        `row_key, stored_position, stored_at, had, standing, places, stored_image`, at most one row
        for each key; `had` says how many live rows it has, `standing` whether silver has any row
        of it, be it one that is marked as deleted, `places` in which data files these stand, or,
        where none does, the delete marks of the key. Of a batch that is `behind` what is stored,
        `stored_position` is that bound, and `stored_at` is NULL.
    """
    cdc = f"s.{quote_ident(silver.cdc_name(plan.columns))}"
    no_image = F.lit(None).cast(_image_type(plan)).alias("stored_image")
    rows = tables.at_ref(spark, plan.silver, plan.base).alias("s")
    image = F.expr(f"{_stored_image(plan)} AS stored_image")
    named = row_key(plan, "s") if plan.is_bag else key_text(plan, "s")
    if keys is not None:
        rows = rows.join(F.broadcast(keys.alias("k")), silver.same_key(plan), "inner")
        named = "k.row_key"
    live = rows.select(
        F.expr(f"{named} AS row_key"),
        *_coordinates(cdc, plan.behind),
        # None but a soft table has rows of what is deleted.
        F.expr(f"bigint({silver.is_live(cdc) if plan.soft else 'true'}) AS had"),
        F.lit(True).alias("standing"),
        F.expr(_places(plan)),
        image if with_image else no_image,
    )
    if plan.is_bag:
        live = live.groupBy("row_key").agg(
            F.max("stored_position").alias("stored_position"),
            F.max_by("stored_at", "stored_position").alias("stored_at"),
            F.sum("had").alias("had"),
            F.first("standing").alias("standing"),
            F.flatten(F.collect_list("places")).alias("places"),
            F.first("stored_image").alias("stored_image"),
        )
    if not has_state:
        return live
    deleted = tables.at_ref(spark, plan.state, plan.base).where(silver.IS_DELETE_MARK)
    if keys is not None:
        asked = F.broadcast(keys.select(F.col("row_key").alias("asked")))
        deleted = deleted.join(asked, F.col("key") == F.col("asked"), "left_semi")
    marks = (
        deleted.withColumn("place", F.expr(_PLACE))
        .withColumnRenamed("key", "row_key")
        .groupBy("row_key")
        .agg(
            F.expr("max_by(struct(position, topic, partition, offset), position) AS m"),
            F.collect_list("place").alias("places"),
        )
        .select(
            "row_key",
            *_coordinates("m", plan.behind),
            F.lit(0).cast("bigint").alias("had"),
            F.lit(False).alias("standing"),
            "places",
            no_image,
        )
    )
    return live.unionByName(marks)


def _coordinates(struct: str, behind: str) -> tuple[Column, Column]:
    """`stored_position` and `stored_at` of what has a struct with its coordinates."""
    position = f"{struct}.position"
    place = f"struct({struct}.topic, {struct}.partition, {struct}.offset)"
    if behind:
        position, place = literal(behind), _NOWHERE
    return F.expr(f"{position} AS stored_position"), F.expr(f"{place} AS stored_at")


def has_places(plan: TablePlan) -> bool:
    """Whether rows say where they stand: a column of the source hides Iceberg's of its name."""
    return not {"_file", "_pos"} & {name.lower() for name in plan.columns}


def _places(plan: TablePlan) -> str:
    if not has_places(plan):
        return f"CAST(NULL AS {_PLACES_TYPE}) AS places"
    return f"array({_PLACE}) AS places"


def _stored_image(plan: TablePlan) -> str:
    """The image of a stored row `s`; a column that this batch adds has its default there."""
    added = {column.name.lower() for column in plan.schema.add}
    values = (
        f"CAST({decode_default(plan.defaults[name.lower()])} AS {kind})"
        if name.lower() in added and name.lower() in plan.defaults
        else f"s.{quote_ident(name)}"
        for name, kind in plan.columns.items()
    )
    named = zip(map(literal, plan.columns), values, strict=True)
    return f"named_struct({', '.join(f'{name}, {value}' for name, value in named)})"


def nothing_stored(spark: SparkSession, plan: TablePlan) -> DataFrame:
    """`stored_state` of a table without rows and marks."""
    return spark.range(0).select(
        F.lit(None).cast("string").alias("row_key"),
        F.lit(None).cast("string").alias("stored_position"),
        F.expr(f"{_NOWHERE} AS stored_at"),
        F.lit(None).cast("bigint").alias("had"),
        F.lit(None).cast("boolean").alias("standing"),
        F.lit(None).cast(_PLACES_TYPE).alias("places"),
        F.lit(None).cast(_image_type(plan)).alias("stored_image"),
    )


def _image_type(plan: TablePlan) -> str:
    return f"struct<{','.join(f'{quote_ident(n)}:{k}' for n, k in plan.columns.items())}>"
