"""Change events of one table, typed: key, position and row image.

In: the batch's envelopes and the table's plan. Out: one row per change event with `row_key` (text
that names the key), `position`, `op`, the typed `image` in silver's columns, the columns whose
unchanged large value the connector left out, and why the event cannot be applied, if so.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from lakehouse.config import TopicRole
from lakehouse.envelope import DELETE, TRUNCATE, UPDATE
from lakehouse.names import TableIdentity, quote_ident
from lakehouse.plan.batches.tables import TablePlan, TopicPartition
from lakehouse.spark.decoding.flaws import bad_columns, has_image, unavailable
from lakehouse.spark.decoding.halves import halves
from lakehouse.spark.decoding.masking import with_mask_key
from lakehouse.spark.decoding.shapes import fits
from lakehouse.spark.decoding.values import image_value, is_bad_key, key_value
from lakehouse.spark.decoding.versions import (
    Reading,
    by_version,
    column_by_version,
    in_versions,
    readings,
    version_number,
)
from lakehouse.spark.ordering.key_changes import CHANGE
from lakehouse.spark.rows import key_text, row_key
from lakehouse.spark.sql import all_of, any_of, in_partition, literal

_PLACE = ("topic", "partition", "offset", "position", "change", "op", "snapshot", "source_ts_ms")
# `redelivered` and what tells two events of one position apart go with each event.
_DELIVERY = ("redelivered", "total_order", "half", "counted", "moves")
# A row of a bag is named by its image, so that what it was before must be sent too.
_REASON = (
    "CASE WHEN bad_key THEN 'bad_key' WHEN no_key THEN 'no_key' "
    f"WHEN tokens IS NULL AND bag AND op IN ({literal(UPDATE)}, {literal(DELETE)}) "
    "THEN 'no_before_image' "
    "WHEN tokens IS NULL AND is_new THEN 'no_image' "
    "WHEN is_new AND other_key THEN 'key_mismatch' "
    "WHEN size(bad) > 0 THEN 'bad_value' WHEN NOT fits THEN 'unknown_column' END"
)


def table_rows(envelopes: DataFrame, plan: TablePlan, secret: bytes = b"") -> DataFrame:
    """The change events of a table that this batch may apply, truncates excepted.

    Args:
        envelopes: The batch.
        plan: The table.
        secret: What the values of hashed columns are hashed with.

    Returns:
        `topic, partition, offset, position, change, op, snapshot, source_ts_ms, redelivered,
        total_order, half, counted, moves, image_hash, row_key, key, image, unavailable, bad,
        reason`; `bad` lists columns. An update may be two rows: `half` orders them, one of them is
        `counted`.
    """
    is_row = f"op != {literal(TRUNCATE)}"
    mine = envelopes.where(all_of((of_table(plan), is_row, in_versions(plan))))
    versions = readings(plan)
    return _judged(_typed(mine, versions, secret), versions)


def of_table(plan: TablePlan) -> str:
    """Whether an envelope is a change event that this batch may apply to the table."""
    return all_of((belongs_to(plan.identity), _in_plan(plan)))


def belongs_to(identity: TableIdentity) -> str:
    """Whether an envelope is a readable change event of the table."""
    names = (identity.database, identity.schema_name)
    database, schema = ("NULL" if name is None else literal(name) for name in names)
    return all_of(
        (
            # First what tells tables of one source apart: each looks through all envelopes.
            f"table_name = {literal(identity.table)}",
            f"schema_name <=> {schema}",
            f"database <=> {database}",
            f"role = {literal(TopicRole.DATA)}",
            "reason IS NULL",
            "NOT control",
            f"incarnation = {identity.incarnation}",
        )
    )


def _typed(events: DataFrame, versions: Sequence[Reading], secret: bytes) -> DataFrame:
    """The rows that come and go with their key and their image."""
    plan = versions[0].plan
    keys = (f"{literal(name)}, {column_by_version(key_value, versions, name)}" for name in plan.key)
    values = (
        f"{literal(name)}, {column_by_version(image_value, versions, name)}"
        for name in plan.columns
    )
    key = f"named_struct({', '.join(keys)})" if plan.key else "CAST(NULL AS string)"
    image = f"if({has_image(plan)}, named_struct({', '.join(values)}), NULL)"
    fitting = by_version([_fits(reading) for reading in versions])
    fit = f"NOT ({has_image(plan)}) OR tokens IS NULL OR {fitting} AS fits"
    columns = (column for reading in versions for column in reading.version.columns)
    numbered = events.selectExpr("*", version_number(plan), f"{CHANGE} AS change")
    tokens = with_mask_key(halves(numbered, plan), columns, secret)
    return tokens.selectExpr("*", f"{key} AS key", fit).selectExpr("*", f"{image} AS image")


def _judged(typed: DataFrame, versions: Sequence[Reading]) -> DataFrame:
    """The typed rows with what names them, and why one cannot be applied."""
    plan = versions[0].plan
    found = typed.selectExpr(
        *_PLACE,
        *_DELIVERY,
        "if(tokens IS NOT NULL, xxhash64(tokens), NULL) AS image_hash",
        f"{row_key(plan, 'image') if plan.is_bag else key_text(plan, 'key')} AS row_key",
        "key",
        "image",
        "tokens",
        f"{unavailable(versions)} AS unavailable",
        f"{bad_columns(versions)} AS bad",
        "fits",
        f"{any_of(column_by_version(is_bad_key, versions, name) for name in plan.key)} AS bad_key",
        f"{any_of(_differs(name) for name in plan.key)} AS other_key",
        f"{_lacks_key(plan)} AS no_key",
        f"{'true' if plan.is_bag else 'false'} AS bag",
        f"op != {literal(DELETE)} AS is_new",
    )
    helpers = ("tokens", "bad_key", "other_key", "no_key", "bag", "is_new", "fits")
    return found.selectExpr("*", f"{_REASON} AS reason").drop(*helpers)


def _fits(reading: Reading) -> str:
    return fits(reading.version.columns, reading.version.withheld)


def _lacks_key(plan: TablePlan) -> str:
    if plan.is_bag or plan.key_in_row:
        return "false"
    return "coalesce(size(key_tokens), 0) = 0"


def _differs(name: str) -> str:
    """Whether the row image has another value in a column of the key than the event key."""
    quoted = quote_ident(name)
    return f"NOT (key.{quoted} <=> image.{quoted})"


def _in_plan(plan: TablePlan) -> str:
    """Whether a message is between the table's own progress and where it is held, if anywhere."""
    return any_of(_in_range(place, plan) for place in plan.places)


def _in_range(place: TopicPartition, plan: TablePlan) -> str:
    start = f"offset >= {plan.start.next_offset(*place)}"
    end = (f"offset < {plan.limits[place]}",) if place in plan.limits else ()
    return " AND ".join((in_partition(place), start, *end))
