"""Heads: what the messages of a topic begin with where each carries its schema.

In: bronze rows of a large batch. Out: the same without what each topic's first message has before
its payload, which is looked through once. A schema is four fifths of a message's bytes, the same
ones each time: to know of each that it is text, and JSON, took half of the time of parsing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.spark.once import once
from lakehouse.spark.parsing.documents import BEHIND, with_documents
from lakehouse.spark.parsing.reasons import symptoms
from lakehouse.spark.session import tuned
from lakehouse.spark.sql import any_of, in_partition, literal

# A topic's first message may be a tombstone.
_LOOKED_AT = 4
# `documents` begins so, in front of a schema and behind it.
_HEAD = "binary(concat('{\"schema\":', row_schema, ',\"payload\":'))"
_COLUMNS = "topic string, value_head binary, fingerprint bigint, key_head binary"


@dataclass(frozen=True, slots=True)
class Head:
    """What the messages of one topic begin with.

    Attributes:
        value: The first octets of values, up to their payload.
        fingerprint: Names the schema in them.
        schema: The same as JSON.
        key: The first octets of keys; None where they have no schema.
    """

    topic: str
    value: bytes
    fingerprint: int
    schema: str
    key: bytes | None


def load_heads(messages: DataFrame) -> tuple[Head, ...]:
    """The heads of the topics whose first messages have one.

    Args:
        messages: Bronze rows.
    """
    firsts = messages.groupBy("topic", "partition").agg(F.min("offset").alias("first")).collect()
    if not firsts:
        return ()
    wanted = any_of(
        f"{in_partition((row['topic'], row['partition']))} "
        f"AND offset BETWEEN {row['first']} AND {row['first'] + _LOOKED_AT - 1}"
        for row in firsts
    )
    some = messages.where(wanted).select("topic", "offset", "value", "key")
    # With a limit, what stands behind them in a file is not read.
    most = _LOOKED_AT * len(firsts)
    rows = once(some.limit(most), eager=True)
    with tuned(messages.sparkSession, most):
        found = _looked_through(rows).collect()
    keys = {row["topic"]: bytes(row["head"]) for row in found if row["is_key"]}
    return tuple(
        Head(
            row["topic"], bytes(row["head"]), row["name"], row["row_schema"], keys.get(row["topic"])
        )
        for row in found
        if not row["is_key"]
    )


def _looked_through(rows: DataFrame) -> DataFrame:
    """Of each topic's values and keys the first one in which a schema stands before the payload."""
    both = "inline(array(struct(false AS is_key, value), struct(true AS is_key, key AS value)))"
    sent = without_heads(rows.selectExpr("topic", "offset", both, "NULL AS key"), ())
    read = with_documents(sent.select("*", *symptoms(), F.col("value").alias("sent")))
    is_sound = "is_json AND is_text AND NOT has_half_pair AND startswith(row_schema, '{')"
    return (
        read.where(f"{is_sound} AND startswith(sent, {_HEAD})")
        .groupBy("topic", "is_key")
        .agg(F.expr(f"min_by(struct({_HEAD} AS head, row_schema), offset) AS first"))
        .selectExpr("topic", "is_key", "first.*", "xxhash64(first.row_schema) AS name")
    )


def without_heads(messages: DataFrame, heads: Sequence[Head]) -> DataFrame:
    """Messages without the heads of their topics.

    Args:
        messages: With `topic, key, value`.
        heads: None or one for each topic.

    Returns:
        The same with `size` (octets of `value`, which is then without its head), `head` (the
        fingerprint of what was cut off, NULL where nothing was), and for the key `key_document`
        and `is_key_cut`.
    """
    if not heads:
        return messages.selectExpr(
            "*",
            "octet_length(value) AS size",
            "CAST(NULL AS bigint) AS head",
            "key AS key_document",
            "false AS is_key_cut",
        )
    told = [(head.topic, head.value, head.fingerprint, head.key) for head in heads]
    frame = messages.sparkSession.createDataFrame(told, _COLUMNS)
    joined = messages.join(F.broadcast(frame), "topic", "left").selectExpr(
        "*",
        "coalesce(startswith(value, value_head), false) AS is_cut",
        "coalesce(startswith(key, key_head), false) AS is_key_cut",
    )
    kept = (name for name in messages.columns if name != "value")
    return joined.selectExpr(
        *kept,
        "octet_length(value) AS size",
        f"if(is_cut, {_behind('value')}, value) AS value",
        "if(is_cut, fingerprint, NULL) AS head",
        f"if(is_key_cut, {_behind('key')}, key) AS key_document",
        "is_key_cut",
    )


def _behind(column: str) -> str:
    rest = f"substring({column}, octet_length({column}_head) + 1)"
    return f"concat(binary({literal(BEHIND)}), {rest})"
