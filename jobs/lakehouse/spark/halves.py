"""Halves: an update as the delete of the row before and the insert of the row after.

In: the envelopes of one schema version of a table. Out: one or two rows for each, with the tokens
of the row that comes or goes. Two rows are needed where the event key does not name the row: in a
bag of rows, under a key that the TOML file names, and where an update may change the key (TiCDC
with `output-raw-change-event`).
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from lakehouse.envelope import DELETE, PLACEHOLDER, PLACEHOLDER_BASE64, UPDATE
from lakehouse.names import quote_ident
from lakehouse.plan.tables import TablePlan, Version
from lakehouse.spark.shapes import is_float, json_types
from lakehouse.spark.sql import literal

# The placeholder is text, its bytes, or an array's only element.
_PLACEHOLDERS = (PLACEHOLDER, PLACEHOLDER_BASE64, f'["{PLACEHOLDER}"]')
_COMMON = (
    "topic",
    "partition",
    "offset",
    "position",
    "snapshot",
    "source_ts_ms",
    "redelivered",
    "total_order",
    "key_tokens",
    "has_schema",
)


def is_placeholder(token: str) -> str:
    """Whether a token stands for a large value that did not change."""
    return f"coalesce({token} IN ({', '.join(map(literal, _PLACEHOLDERS))}), false)"


def halves(events: DataFrame, version: Version, plan: TablePlan) -> DataFrame:
    """The rows that come and go.

    Returns:
        The events' columns with `op`, `half` (the row before is 0, the row after 1), `counted`
        (true for one half of each event), `tokens`, their `json_types` and `floats`; NULL tokens
        where the image was not sent.
    """
    names = ",".join(f"{quote_ident(column.name)}:string" for column in version.columns)
    kind = literal(f"struct<{names}>")
    after = f"try_variant_get(payload, '$.after', {kind})"
    floats = _floats(version)
    if not plan.halves:
        common = (*_COMMON, "op", "1 AS half", "true AS counted")
        types, exact = f"{json_types('after')} AS json_types", f"{floats('after')} AS floats"
        return events.selectExpr(*common, f"{after} AS tokens", types, exact)
    both = events.selectExpr(
        *_COMMON,
        "op AS event_op",
        f"{after} AS after",
        f"try_variant_get(payload, '$.before', {kind}) AS before",
        f"{json_types('after')} AS after_types",
        f"{json_types('before')} AS before_types",
        f"{floats('after')} AS after_floats",
        f"{floats('before')} AS before_floats",
    )
    is_update = f"event_op = {literal(UPDATE)}"
    alone = f"NOT ({is_update}) AS counted"
    goes = (
        f"struct({literal(DELETE)} AS op, 0 AS half, {alone}, before AS tokens, "
        "before_types AS json_types, before_floats AS floats)"
    )
    comes = (
        f"struct(event_op AS op, 1 AS half, true AS counted, {_after(version, plan)} AS tokens, "
        "after_types AS json_types, after_floats AS floats)"
    )
    lacks = "" if plan.is_bag else " AND before IS NOT NULL"
    parts = (
        f"CASE WHEN event_op = {literal(DELETE)} THEN array({goes}) "
        f"WHEN {is_update}{lacks} THEN array({goes}, {comes}) ELSE array({comes}) END"
    )
    return both.selectExpr(*_COMMON, f"inline({parts})")


def _floats(version: Version) -> Callable[[str], str]:
    """SQL for the floating-point columns of an image, by its name, where one may be -0."""
    names = [quote_ident(column.name) for column in version.columns if is_float(column)]
    kind = f"struct<{','.join(f'{name}:double' for name in names)}>"

    def read(image: str) -> str:
        if not names:
            return "NULL"
        schema = literal(f"payload struct<{image}:{kind}>, {image} {kind}")
        document = f"from_json(minus_zero, {schema})"
        return f"coalesce({document}.payload.{image}, {document}.{image})"

    return read


def _after(version: Version, plan: TablePlan) -> str:
    """The image after; that of a bag is none without the image before, which fills its gaps."""
    if not plan.is_bag:
        return "after"
    is_known = f"after IS NOT NULL AND (event_op != {literal(UPDATE)} OR before IS NOT NULL)"
    if not plan.placeholders:
        return f"if({is_known}, after, NULL)"
    fields = (_filled(quote_ident(column.name), column.name) for column in version.columns)
    return f"if({is_known}, named_struct({', '.join(fields)}), NULL)"


def _filled(quoted: str, name: str) -> str:
    after, before = f"after.{quoted}", f"before.{quoted}"
    return f"{literal(name)}, if({is_placeholder(after)}, {before}, {after})"
