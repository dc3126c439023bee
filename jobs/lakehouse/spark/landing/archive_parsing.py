"""Lines of topic archives as columns of messages, each judged as whole or broken.

In: files named `t-<topic>.jsonl[.gz]`. Out: one DataFrame. Lines are parsed as VARIANT, because
`from_json` takes any token for text and a broken line for NULL; only a line that the variant
parser is too small for is parsed with `from_json`, and has to be checked in the driver.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.plan.topics.archive_line import (
    MAX_OFFSET,
    MAX_PARTITION,
    MAX_TIMESTAMP_MS,
    TIMESTAMP_TYPES,
)
from lakehouse.spark.parsing.surrogates import has_lone_surrogate

# Jackson gives up on text of more than 20 million characters.
LARGE_LINE_BYTES = 16_000_000

MESSAGE_COLUMNS = (
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "value",
    "headers",
)

_TEXT = "(?:STRING|VOID)"
_LIST = r"(?:VOID|ARRAY<VOID>|ARRAY<ARRAY<STRING>>)"
_SHAPE = (
    rf"OBJECT<(?:headers: {_LIST}, headers_b64: {_LIST}|headers(?:_b64)?: {_LIST}), "
    rf"(?:key: {_TEXT}, key_b64: {_TEXT}|key(?:_b64)?: {_TEXT}), "
    r"offset: BIGINT, partition: BIGINT, timestamp: BIGINT, "
    r"(?:timestamp_type: (?:STRING|BIGINT), )?topic: STRING, "
    rf"(?:value: {_TEXT}, value_b64: {_TEXT}|value(?:_b64)?: {_TEXT})>"
)
_FIELDS: Mapping[str, str] = {
    "topic": "string",
    "partition": "bigint",
    "offset": "bigint",
    "timestamp": "bigint",
    "timestamp_type": "string",
    "key": "string",
    "key_b64": "string",
    "value": "string",
    "value_b64": "string",
    "headers": "array<array<string>>",
    "headers_b64": "array<array<string>>",
}
_MEMBERS = f"struct<{','.join(f'{name}:{kind}' for name, kind in _FIELDS.items())}>"
# All in one look: paths that lead nowhere are dear (`parsing.documents`).
_READ = f"struct<line:{_MEMBERS},end:string>"
_WRAPPED = f"^OBJECT<end: STRING, line: {_SHAPE}>$"
LINK_PREFIX = "t-"


def parsed_lines(spark: SparkSession, folder: str) -> DataFrame:
    """One row for each line: the message, and whether the line is broken or very large.

    A broken line has NULL in place of its message, except for the topic of its file.
    """
    sentinel = uuid.uuid4().hex
    raw = spark.read.text(folder, lineSep="\n").select(
        F.col("value").alias("line"),
        F.regexp_extract("_metadata.file_name", rf"^{LINK_PREFIX}(.+)\.jsonl(?:\.gz)?$", 1).alias(
            "file"
        ),
    )
    wrapped = F.concat(F.lit('{"line":'), F.col("line"), F.lit(f',"end":"{sentinel}"}}'))
    large = F.octet_length("line") >= LARGE_LINE_BYTES
    parsed = raw.select(
        "line",
        "file",
        large.alias("large"),
        F.when(~large, F.try_parse_json(wrapped)).alias("parsed"),
    )
    read = parsed.withColumn("read", F.try_variant_get("parsed", "$", _READ))
    fields = read.select("file", "large", _message(), _is_shaped(sentinel))
    return _typed(fields)


def _message() -> Column:
    """The members of a line, from the variant or, for a large line, by `from_json`."""
    large = F.from_json("line", _MEMBERS, {"maxStringLen": str(2**31 - 1)})
    return F.when(F.col("large"), large).otherwise(F.col("read.line")).alias("m")


def _is_shaped(sentinel: str) -> Column:
    """Whether the line is one object and nothing behind it, with the known members."""
    alone = F.col("read.end") == F.lit(sentinel)
    whole = F.col("large") | (alone & F.schema_of_variant("parsed").rlike(_WRAPPED))
    lone = has_lone_surrogate(F.col("line"))
    return F.coalesce(whole & ~lone & F.is_valid_utf8("line"), F.lit(False)).alias("shaped")


def _typed(fields: DataFrame) -> DataFrame:
    member = {name: F.col(f"m.{name}") for name in _FIELDS}
    typed = fields.select(
        "file",
        "large",
        "shaped",
        member["topic"].alias("topic"),
        *(member[name].alias(name) for name in ("partition", "offset", "timestamp")),
        _timestamp_type(member["timestamp_type"]).alias("timestamp_type"),
        _bytes(member["key"], member["key_b64"]).alias("key"),
        _bytes(member["value"], member["value_b64"]).alias("value"),
        _headers(member["headers"], member["headers_b64"]).alias("headers"),
        (
            _one_of(member["key"], member["key_b64"])
            & _one_of(member["value"], member["value_b64"])
            & _headers_fit(member["headers"], member["headers_b64"])
        ).alias("fit"),
    )
    good = F.coalesce(
        F.col("shaped")
        & F.col("fit")
        & (F.col("topic") == F.col("file"))
        & F.col("partition").between(0, MAX_PARTITION)
        & F.col("offset").between(0, MAX_OFFSET)
        & F.col("timestamp").between(-1, MAX_TIMESTAMP_MS)
        & F.col("timestamp_type").isNotNull(),
        F.lit(False),
    )
    judged = typed.withColumn("good", good)
    return judged.select(
        F.col("file").alias("topic"),
        F.when(F.col("good"), F.col("partition")).cast("int").alias("partition"),
        F.when(F.col("good"), F.col("offset")).alias("offset"),
        F.timestamp_millis(F.when(F.col("good"), F.col("timestamp"))).alias("timestamp"),
        *("timestamp_type", "key", "value", "headers", "large"),
        (~F.col("good")).alias("broken"),
    )


def _timestamp_type(text: Column) -> Column:
    number = F.when(text.isNull(), F.lit(TIMESTAMP_TYPES["CreateTime"]))
    for name, code in TIMESTAMP_TYPES.items():
        number = number.when(text.isin(name, str(code)), F.lit(code))
    return number


def _bytes(text: Column, encoded: Column) -> Column:
    return F.coalesce(F.try_to_binary(encoded, F.lit("base64")), text.cast("binary"))


def _one_of(text: Column, encoded: Column) -> Column:
    return encoded.isNull() | (text.isNull() & _is_base64(encoded))


def _is_base64(encoded: Column) -> Column:
    """Whether encoding again gives the same text; Spark breaks its own after 76 characters."""
    again = F.replace(F.base64(F.try_to_binary(encoded, F.lit("base64"))), F.lit("\r\n"), F.lit(""))
    return F.coalesce(again == encoded, F.lit(False))


def _headers(text: Column, encoded: Column) -> Column:
    decoded = F.transform(
        encoded,
        lambda pair: F.struct(
            F.get(pair, F.lit(0)).alias("key"),
            F.try_to_binary(F.get(pair, F.lit(1)), F.lit("base64")).alias("value"),
        ),
    )
    plain = F.transform(
        text,
        lambda pair: F.struct(
            F.get(pair, F.lit(0)).alias("key"), F.get(pair, F.lit(1)).cast("binary").alias("value")
        ),
    )
    return F.when(F.size(encoded) > 0, decoded).otherwise(
        F.coalesce(plain, F.array().cast("array<struct<key: string, value: binary>>"))
    )


def _headers_fit(text: Column, encoded: Column) -> Column:
    def is_pair(pair: Column) -> Column:
        return (F.size(pair) == 2) & F.get(pair, F.lit(0)).isNotNull()

    def is_encoded_pair(pair: Column) -> Column:
        value = F.get(pair, F.lit(1))
        return is_pair(pair) & (value.isNull() | _is_base64(value))

    some = F.lit(True)
    return (
        (text.isNotNull() | encoded.isNotNull())
        & F.coalesce((F.size(text) == 0) | (F.size(encoded) == 0), some)
        & F.coalesce(F.forall(text, is_pair), some)
        & F.coalesce(F.forall(encoded, is_encoded_pair), some)
    )
