"""Heads: what the messages of a topic begin with where each carries its schema.

In: bronze rows of a topic partition with many. Out: the same without what its first message has
before the payload, which is looked through once. A schema is four fifths of a message's bytes, the
same ones each time: to know of each that it is text, and JSON, took a third of the CPU of parsing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.spark.parsing.documents import BEHIND, PAYLOAD, SCHEMA, with_documents
from lakehouse.spark.parsing.reasons import symptoms
from lakehouse.spark.session import tuned
from lakehouse.spark.sql import any_of, in_offsets, literal

# A topic partition's first message may be a tombstone.
_LOOKED_AT = 4
# What the driver holds of them is bounded.
_MOST_PLACES, _MOST_OCTETS = 200, 100_000
_READ = ("topic", "offset", "value", "key")
_READ_TYPES = "topic string, offset bigint, value binary, key binary"
_HEAD = f"binary(concat({literal(SCHEMA)}, row_schema, {literal(PAYLOAD)}))"
_COLUMNS = "topic string, value_head binary, fingerprint bigint, key_head binary"


@dataclass(frozen=True, slots=True)
class Head:
    """What the messages of one topic begin with.

    Attributes:
        value: The first octets of values, up to their payload.
        fingerprint: Names the schema in them.
        key: The first octets of keys; None where they have no schema.
    """

    topic: str
    value: bytes
    fingerprint: int
    key: bytes | None


def load_heads(messages: DataFrame, starts: Mapping[TopicPartition, int]) -> tuple[Head, ...]:
    """The heads of the topics whose first messages have one.

    Args:
        messages: Bronze rows.
        starts: Topic partition → the offset that its messages begin at. Where none stands there,
            or right behind, nothing is known of them.
    """
    if not starts:
        return ()
    spark, places = messages.sparkSession, dict(list(starts.items())[:_MOST_PLACES])
    wanted = any_of(in_offsets(place, start, start + _LOOKED_AT) for place, start in places.items())
    some = messages.where(f"({wanted}) AND octet_length(value) <= {_MOST_OCTETS}")
    # Little is done with each row; to generate code for that takes longer.
    with tuned(spark, 0):
        # With a limit, what stands behind them in a file is not read.
        rows = some.select(*_READ).limit(_LOOKED_AT * len(places)).collect()
        found = _looked_through(spark.createDataFrame(rows, _READ_TYPES)).collect() if rows else []
    keys = {row["topic"]: bytes(row["head"]) for row in found if row["is_key"]}
    return tuple(
        Head(row["topic"], bytes(row["head"]), row["name"], keys.get(row["topic"]))
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
        .selectExpr("topic", "is_key", "first.head", "xxhash64(first.row_schema) AS name")
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
