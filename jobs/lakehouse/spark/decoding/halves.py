"""Halves: an update as the delete of the row before and the insert of the row after.

In: the envelopes of a table. Out: one or two rows for each, with the tokens of the row that comes
or goes. Two rows are needed where the event key does not name the row: in a bag of rows, under a
key that the TOML file names, and where an update may change the key (TiCDC with
`output-raw-change-event`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.envelope import DELETE, PLACEHOLDERS, UPDATE
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.schemas.types import Column, Kind
from lakehouse.spark.decoding.shapes import is_float, json_types, needs_types
from lakehouse.spark.decoding.versions import by_version, token_fields
from lakehouse.spark.sql import any_of, literal

_COMMON = (
    "topic",
    "partition",
    "offset",
    "position",
    "change",
    "snapshot",
    "source_ts_ms",
    "redelivered",
    "total_order",
    "key_tokens",
    "has_schema",
    "version",
)


def is_placeholder(token: str) -> str:
    """Whether a token stands for a large value that did not change."""
    return f"coalesce({token} IN ({', '.join(map(literal, PLACEHOLDERS))}), false)"


def may_be_left_out(column: Column) -> bool:
    """Whether a connector may leave out an unchanged value of the column's type."""
    return column.type.sent.kind in (Kind.CAST, Kind.BASE64, Kind.ARRAY, Kind.MAP)


def halves(events: DataFrame, plan: TablePlan) -> DataFrame:
    """The rows that come and go.

    Args:
        events: Envelopes of the table with the number of their `version`.
        plan: The table.

    Returns:
        The events' columns with `op`, `moves` (a row may get or leave this key), `half` (the
        row before is 0, the row after 1), `counted`
        (true for one half of each event), `tokens`, their `json_types` and `floats`; NULL tokens
        where the image was not sent.
    """
    if plan.halves:
        return _both(events, plan)
    image, types, exact = _read("after", plan)
    return events.selectExpr(
        *_COMMON,
        "op",
        "moves",
        "1 AS half",
        "true AS counted",
        f"{image} AS tokens",
        f"{types} AS json_types",
        f"{exact} AS floats",
    )


def _both(events: DataFrame, plan: TablePlan) -> DataFrame:
    images = [
        f"{text} AS {name}{what}"
        for name in ("after", "before")
        for text, what in zip(_read(name, plan), ("", "_types", "_floats"), strict=True)
    ]
    is_update = f"event_op = {literal(UPDATE)}"
    alone = f"NOT ({is_update}) AS counted"
    goes = (
        f"struct({literal(DELETE)} AS op, 0 AS half, {alone}, before AS tokens, "
        "before_types AS json_types, before_floats AS floats)"
    )
    comes = (
        f"struct(event_op AS op, 1 AS half, true AS counted, {_after(plan)} AS tokens, "
        "after_types AS json_types, after_floats AS floats)"
    )
    lacks = "" if plan.is_bag else " AND before IS NOT NULL"
    parts = (
        f"CASE WHEN event_op = {literal(DELETE)} THEN array({goes}) "
        f"WHEN {is_update}{lacks} THEN array({goes}, {comes}) ELSE array({comes}) END"
    )
    both = events.selectExpr(*_COMMON, "op AS event_op", "moves AS moved", *images)
    if plan.is_bag and plan.placeholders:
        # An image with gaps is that of no row that could be found.
        both = both.withColumn("before", F.expr(f"if({_has_gap(plan)}, NULL, before)"))
    return both.selectExpr(*_COMMON, f"moved OR {is_update} AS moves", f"inline({parts})")


def _has_gap(plan: TablePlan) -> str:
    """Whether the image before lacks a value that names its row; a redacted one names none."""
    fields = token_fields(plan.versions)
    columns = (
        [c for c in version.columns if c.type.kind is not Kind.REDACTED and may_be_left_out(c)]
        for version in plan.versions
    )
    return by_version(
        [
            any_of(is_placeholder(f"before.{quote_ident(fields[c.name])}") for c in of_version)
            for of_version in columns
        ]
    )


def _read(image: str, plan: TablePlan) -> tuple[str, str, str]:
    """SQL for the tokens of an image, their JSON types, and its floating-point numbers."""
    fields = token_fields(plan.versions)
    kind = literal(_struct(fields, "string"))
    sent = f"try_variant_get(payload, {literal(f'$.{image}')}, {kind})"
    tokens = f"CAST({sent} AS {_struct(fields.values(), 'string')})"
    columns = (column for version in plan.versions for column in version.columns)
    types = json_types(image)
    if not any(map(needs_types, columns)):
        types = f"if(has_schema, {types}, NULL)"
    return tokens, types, _floats(image, plan, fields)


def _floats(image: str, plan: TablePlan, fields: Mapping[str, str]) -> str:
    """SQL for the floating-point columns of an image, where one may be -0."""
    columns = (column for version in plan.versions for column in version.columns)
    names = list(dict.fromkeys(column.name for column in columns if is_float(column)))
    if not names:
        return "NULL"
    kind = _struct(names, "double")
    document = (
        f"from_json(minus_zero, {literal(f'payload struct<{image}:{kind}>, {image} {kind}')})"
    )
    found = f"coalesce({document}.payload.{image}, {document}.{image})"
    return f"CAST({found} AS {_struct([fields[name] for name in names], 'double')})"


def _struct(names: Iterable[str], kind: str) -> str:
    return f"struct<{','.join(f'{quote_ident(name)}:{kind}' for name in names)}>"


def _after(plan: TablePlan) -> str:
    """The image after; an update of a bag has none without the image before, which fills gaps."""
    if not plan.is_bag:
        return "after"
    is_update, after = f"event_op = {literal(UPDATE)}", "after"
    if plan.placeholders:
        fields = ", ".join(map(_filled, token_fields(plan.versions).values()))
        after = f"named_struct({fields})"
    changed = f"if(after IS NOT NULL AND before IS NOT NULL, {after}, NULL)"
    return f"if({is_update}, {changed}, after)"


def _filled(field: str) -> str:
    after, before = (f"{image}.{quote_ident(field)}" for image in ("after", "before"))
    return f"{literal(field)}, if({is_placeholder(after)}, {before}, {after})"
