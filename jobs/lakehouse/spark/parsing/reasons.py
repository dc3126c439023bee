"""Reasons: what becomes of a message: control, quarantined with a reason, or a change event.

In: messages whose documents are parsed. Out: `reason` and `control` of each, with what the other
parts need. The order of the reasons is the order in which a message is read.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from lakehouse.config import SourceConfig, TopicRole
from lakehouse.connectors import Connector
from lakehouse.envelope import ERASED, MESSAGE, OPERATIONS
from lakehouse.spark.parsing.surrogates import has_lone_surrogate
from lakehouse.spark.sql import literal

EMPTY_MESSAGE = "empty_message"
"""The reason of a message without key and value, unless it is a tombstone (`ordering`)."""
IDENTITY = {"database": "db", "schema_name": "schema", "table_name": "table"}
# Beyond it no VARIANT holds a message, and Jackson gives up on its texts.
MAX_VALUE_BYTES = 16_000_000
# A value of so many is told before one is too large.
LARGE_VALUE_BYTES = MAX_VALUE_BYTES // 2
# What may stand before the sign: the colon, or white space behind it.
_BEFORE_A_SIGN = ":", " ", "\t", "\n", "\r"
_MINUS_ZERO = r":\s*-0(?:\.0+)?(?:[eE][-+]?\d+)?\s*[,}]"
# The members of what a connector writes beside change events (`messages.md` §4): a heartbeat, and
# a notification. A transform may route them into any topic.
_BESIDE_EVENTS = (
    ("ts_ms",),
    ("additional_data", "aggregate_type", "id", "timestamp", "type"),
)


def symptoms() -> tuple[Column, ...]:
    """What the bytes of key and value tell before they are parsed, of rows `without_heads`."""
    value, key = F.col("value").cast("string"), F.col("key_document").cast("string")
    return (
        (F.col("size") > MAX_VALUE_BYTES).alias("too_large"),
        (F.col("size") > LARGE_VALUE_BYTES).alias("is_large"),
        # A schema registry's serializers start with this byte; JSON never does.
        F.expr("startswith(value, X'00')").alias("is_registered"),
        F.is_valid_utf8(value).alias("is_text"),
        has_lone_surrogate(value).alias("has_half_pair"),
        has_lone_surrogate(key).alias("key_has_half_pair"),
    )


def minus_zero() -> Column:
    """The text of a document that has -0, of which VARIANT makes 0; else NULL."""
    text = F.col("text")
    return F.when(_may_have_minus_zero(text) & text.rlike(_MINUS_ZERO), text)


def _may_have_minus_zero(text: Column) -> Column:
    """Few messages have a number that begins so; dates and UUIDs have the two characters, too."""
    signed = (F.contains(text, F.lit(f"{before}-0")) for before in _BEFORE_A_SIGN)
    return F.contains(text, F.lit("-0")) & reduce(or_, signed)


def judge(rows: DataFrame, source: SourceConfig, connector: Connector) -> DataFrame:
    """What becomes of each message: control, quarantined with a reason, or a change event."""
    is_data = f"role = {literal(TopicRole.DATA)}"
    makes_nothing = f"coalesce(op IN ({literal(MESSAGE)}, {literal(ERASED)}), false)"
    other = f"NOT ({is_data}) OR {makes_nothing} OR (op IS NULL AND {_is_control()})"
    tombstone = "value_null AND key IS NOT NULL"
    operations = ", ".join(map(literal, OPERATIONS))
    reasons = {
        "too_large": "too_large",
        "registry_format": "is_registered",
        "not_utf8": "NOT is_text",
        "half_surrogate_pair": "has_half_pair",
        "not_json": "NOT is_json",
        "no_operation": "op IS NULL",
        "unknown_operation": f"op NOT IN ({operations})",
        "no_source_block": "s IS NULL",
        "foreign_source": f"s.name IS NULL OR s.name != {literal(source.topic_prefix)}",
        "unknown_connector": f"lower(s.connector) != {literal(connector.name)}",
        "no_identity": "coalesce(table_name, '') = ''",
        "no_position": "position IS NULL AND NOT running",
        "bad_key": "key IS NOT NULL AND (key_tokens IS NULL OR key_has_half_pair)",
    }
    cases = " ".join(f"WHEN {test} THEN {literal(code)}" for code, test in reasons.items())
    return rows.selectExpr(
        "topic",
        "partition",
        "offset",
        "topic_id",
        "landed_at",
        "key",
        "value_null",
        "role",
        f"CASE WHEN {other} OR ({tombstone}) THEN NULL "
        f"WHEN value_null THEN {literal(EMPTY_MESSAGE)} {cases} END AS reason",
        f"{other} OR ({tombstone}) AS control",
        "op",
        "is_schema_change",
        *IDENTITY,
        "0 AS incarnation",
        "false AS renamed",
        "collection",
        "snapshot",
        "log",
        "position",
        "running",
        "unplaced",
        "high",
        "transaction",
        "total_order",
        "fingerprint",
        "key_fields",
        "key_tokens",
        "coalesce(is_large, false) AS is_large",
        "coalesce(octet_length(text), 0) + coalesce(octet_length(key), 0) AS octets",
        "has_placeholder",
        "minus_zero",
        "coalesce(head IS NOT NULL OR startswith(row_schema, '{'), false) AS has_schema",
        "payload",
        "source_ts_ms",
        "s.gtid AS gtid",
        "s.txId AS source_transaction",
        "s.lsn AS source_lsn",
        "arrived_ms",
        "alone",
        "coalesce(is_half, false) AS moves",
    )


def _is_control() -> str:
    """Whether a message without an operation stands beside the change events, by its members."""
    members = "sort_array(map_keys(try_variant_get(payload, '$', 'map<string,string>')))"
    shapes = ", ".join(f"array({', '.join(map(literal, names))})" for names in _BESIDE_EVENTS)
    return f"(is_schema_change OR coalesce({members} IN ({shapes}), false))"
