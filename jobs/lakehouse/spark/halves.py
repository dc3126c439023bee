"""Halves: an update as the delete of the row before and the insert of the row after.

In: the envelopes of one schema version of a table. Out: one or two rows for each, with the tokens
of the row that comes or goes. Two rows are needed where the event key does not name the row: in a
bag of rows, under a key that the TOML file names, and where an update may change the key (TiCDC
with `output-raw-change-event`).
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from lakehouse.envelope import DELETE, PLACEHOLDER, PLACEHOLDER_BASE64, UPDATE
from lakehouse.names import quote_ident
from lakehouse.plan.tables import TablePlan, Version
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
)


def is_placeholder(token: str) -> str:
    """Whether a token stands for a large value that did not change."""
    return f"coalesce({token} IN ({', '.join(map(literal, _PLACEHOLDERS))}), false)"


def halves(events: DataFrame, version: Version, plan: TablePlan) -> DataFrame:
    """The rows that come and go.

    Returns:
        The events' columns with `op`, `half` (the row before is 0, the row after 1), `counted`
        (true for one half of each event) and `tokens`; NULL tokens where the image was not sent.
    """
    names = ",".join(f"{quote_ident(column.name)}:string" for column in version.columns)
    kind = literal(f"struct<{names}>")
    after = f"try_variant_get(payload, '$.after', {kind})"
    if not plan.halves:
        common = (*_COMMON, "op", "1 AS half", "true AS counted")
        return events.selectExpr(*common, f"{after} AS tokens")
    both = events.selectExpr(
        *_COMMON,
        "op AS event_op",
        f"{after} AS after",
        f"try_variant_get(payload, '$.before', {kind}) AS before",
    )
    is_update = f"event_op = {literal(UPDATE)}"
    alone = f"NOT ({is_update}) AS counted"
    goes = f"struct({literal(DELETE)} AS op, 0 AS half, {alone}, before AS tokens)"
    comes = f"struct(event_op AS op, 1 AS half, true AS counted, {_after(version, plan)} AS tokens)"
    lacks = "" if plan.is_bag else " AND before IS NOT NULL"
    parts = (
        f"CASE WHEN event_op = {literal(DELETE)} THEN array({goes}) "
        f"WHEN {is_update}{lacks} THEN array({goes}, {comes}) ELSE array({comes}) END"
    )
    return both.selectExpr(*_COMMON, f"inline({parts})")


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
