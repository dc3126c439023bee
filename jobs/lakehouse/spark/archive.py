"""Topic archives in Spark: read and check their messages, and compare them with bronze.

In: `<topic>.jsonl[.gz]` files. Out: one DataFrame of messages, what it holds per topic partition,
or an ArchiveError that names file and line. Lines are parsed as VARIANT, because `from_json`
takes any token for text and a broken line for NULL; only a line that the variant parser is too
small for is parsed with `from_json`, and checked in the driver.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.errors import ArchiveError, LandingRefused
from lakehouse.plan.archive import (
    MAX_OFFSET,
    MAX_PARTITION,
    MAX_TIMESTAMP_MS,
    TIMESTAMP_TYPES,
    ArchiveFile,
    PartitionContent,
)
from lakehouse.plan.offsets import LandingPlan, OffsetRange
from lakehouse.spark.archive_lines import line_number, refuse_broken_lines, unexplained
from lakehouse.spark.bronze import PartitionCount

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
# UTF-8 has no bytes for half of a surrogate pair.
_LONE_SURROGATE = (
    r"(?i)\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})"
    r"|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}"
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
_LINK = "t-"


@dataclass(frozen=True, slots=True)
class Archive:
    """The messages of an archive's files, and what they hold.

    Attributes:
        files: The files that are read.
        messages: One row for each line, with the columns `MESSAGE_COLUMNS`.
        contents: By topic partition.
        counts: Messages by topic partition, in the order of `contents`.
    """

    files: tuple[ArchiveFile, ...]
    messages: DataFrame
    contents: tuple[PartitionContent, ...]
    counts: tuple[int, ...]

    def refuse_missing(self, plan: LandingPlan, staged: Iterable[PartitionCount]) -> None:
        """Compare what was staged with what was counted, for topic partitions landed whole.

        Raises:
            ArchiveError: If they differ: a file was changed meanwhile.
        """
        found = {(count.topic, count.partition): count.messages for count in staged}
        whole = {(each.topic, each.partition, each.start, each.end) for each in plan.ranges}
        for content, expected in zip(self.contents, self.counts, strict=True):
            at = (content.topic, content.partition)
            if (*at, content.first, content.last + 1) in whole and found.get(at) != expected:
                raise ArchiveError(
                    f"Topic {content.topic!r} partition {content.partition}: "
                    f"{found.get(at, 0)} messages read: expected {expected}; the archive was "
                    "changed meanwhile, nothing was landed, run it again"
                )


@contextmanager
def open_archive(
    spark: SparkSession,
    files: Sequence[ArchiveFile],
    workspace: Path,
    until: datetime | None = None,
) -> Iterator[Archive]:
    """Read files, check every line, and keep them readable for the time of the context.

    Args:
        spark: The session.
        files: One file for each topic.
        workspace: An existing folder for links; Spark does not read names that start with `_`.
        until: The data interval's end; it is noted in the contents.

    Raises:
        ArchiveError: If a line is broken; the error names its file and number.
    """
    with tempfile.TemporaryDirectory(dir=workspace, prefix="archive-") as folder:
        for file in files:
            (Path(folder) / f"{_LINK}{file.path.name}").symlink_to(file.path.absolute())
        # Kept, because checking, comparing and landing would each parse every line again.
        lines = parsed_lines(spark, folder).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            contents, counts = _contents(lines, files, until)
            yield Archive(tuple(files), lines.select(*MESSAGE_COLUMNS), contents, counts)
        finally:
            lines.unpersist()


def within(spark: SparkSession, messages: DataFrame, ranges: Sequence[OffsetRange]) -> DataFrame:
    """The messages of offset ranges, with the columns that they have.

    Messages that say their topic id have to have that of the range.
    """
    wanted = spark.createDataFrame(
        pa.table(
            {
                "topic": pa.array([r.topic for r in ranges], pa.string()),
                "partition": pa.array([r.partition for r in ranges], pa.int32()),
                "start": pa.array([r.start for r in ranges], pa.int64()),
                "end": pa.array([r.end for r in ranges], pa.int64()),
                "owner": pa.array([r.topic_id for r in ranges], pa.string()),
            }
        )
    )
    inside = (F.col("offset") >= F.col("start")) & (F.col("offset") < F.col("end"))
    if "topic_id" in messages.columns:
        inside = inside & (F.col("topic_id") == F.col("owner"))
    joined = messages.join(F.broadcast(wanted), ["topic", "partition"], how="inner")
    return joined.where(inside).select(*messages.columns)


def refuse_differences(
    spark: SparkSession, archive: Archive, bronze: DataFrame, ranges: Sequence[OffsetRange]
) -> None:
    """Compare the archive with what is landed of it, byte for byte.

    Args:
        spark: The session.
        archive: The archive.
        bronze: The bronze table.
        ranges: What to compare; the topic ids are those in bronze.

    Raises:
        LandingRefused: With the first message that differs, its file and line.
    """
    if not ranges:
        return
    position = ["topic", "partition", "offset"]
    compared = MESSAGE_COLUMNS[3:]
    landed = within(spark, bronze, ranges).select(
        *position, *(F.col(name).alias(f"landed_{name}") for name in compared)
    )
    differs = {name: ~F.col(name).eqNullSafe(F.col(f"landed_{name}")) for name in compared}
    differs["message"] = F.col("landed_headers").isNull()
    found = (
        within(spark, archive.messages, ranges)
        .join(landed, position, how="left")
        .select(*position, *(different.alias(name) for name, different in differs.items()))
        .where(" OR ".join(f"`{name}`" for name in differs))
        .orderBy(*position)
        .limit(1)
        .collect()
    )
    for row in found:
        path = next(file.path for file in archive.files if file.topic == row["topic"])
        place = f"{path}: line {line_number(path, row['partition'], row['offset'])}"
        what = [name for name in compared if row[name]]
        detail = (
            "is not in bronze, although later offsets of it are"
            if row["message"]
            else f"has another {' and '.join(what)} than the same offset in bronze"
        )
        raise LandingRefused(
            f"{place}: topic {row['topic']!r} partition {row['partition']} offset "
            f"{row['offset']} {detail}: expected equal bytes for what is landed; nothing was "
            "landed, land this archive as another source"
        )


def parsed_lines(spark: SparkSession, folder: str) -> DataFrame:
    """One row for each line: the message, and whether the line is broken or very large.

    A broken line has NULL in place of its message, except for the topic of its file.
    """
    sentinel = uuid.uuid4().hex
    raw = spark.read.text(f"{folder}/{_LINK}*", lineSep="\n").select(
        F.col("value").alias("line"),
        F.regexp_extract("_metadata.file_name", rf"^{_LINK}(.+)\.jsonl(?:\.gz)?$", 1).alias("file"),
    )
    wrapped = F.concat(F.lit("["), F.col("line"), F.lit(f',"{sentinel}"]'))
    large = F.octet_length("line") >= LARGE_LINE_BYTES
    parsed = raw.select(
        "line",
        "file",
        large.alias("large"),
        F.when(~large, F.try_parse_json(wrapped)).alias("parsed"),
    )
    fields = parsed.select("line", "file", "large", _message().alias("m"), _shape(sentinel))
    return _typed(fields)


def _message() -> Column:
    """The members of a line, from the variant or, for a large line, by `from_json`."""
    schema = ", ".join(f"{name} {kind}" for name, kind in _FIELDS.items())
    members = [
        F.try_variant_get("parsed", f"$[0].{name}", kind).alias(name)
        for name, kind in _FIELDS.items()
    ]
    options = {"maxStringLen": str(2**31 - 1)}
    return F.when(F.col("large"), F.from_json("line", schema, options)).otherwise(
        F.struct(*members)
    )


def _shape(sentinel: str) -> Column:
    """Whether the line is one object and nothing behind it, with the known members."""
    shape = F.schema_of_variant(F.try_variant_get("parsed", "$[0]", "variant"))
    alone = F.try_variant_get("parsed", "$[1]", "string") == F.lit(sentinel)
    whole = F.col("large") | (alone & shape.rlike(f"^{_SHAPE}$"))
    escapes = F.replace("line", F.lit("\\\\"), F.lit(" "))
    lone = F.col("line").contains("\\u") & escapes.rlike(_LONE_SURROGATE)
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


def _contents(
    lines: DataFrame, files: Sequence[ArchiveFile], until: datetime | None
) -> tuple[tuple[PartitionContent, ...], tuple[int, ...]]:
    outside = F.col("timestamp") >= F.lit(until) if until is not None else F.lit(False)
    try:
        rows = (
            lines.groupBy("topic", "partition")
            .agg(
                F.count("*").alias("messages"),
                F.count_distinct("offset").alias("offsets"),
                F.min("offset").alias("first"),
                F.max("offset").alias("last"),
                F.min(F.when(outside, F.col("offset"))).alias("limit"),
                F.count_if("broken").alias("broken"),
                F.count_if("large").alias("large"),
            )
            .collect()
        )
    except (PySparkException, Py4JJavaError):
        refuse_broken_lines(files, LARGE_LINE_BYTES, whole=[file.topic for file in files])
        raise
    rows.sort(key=lambda row: (row["topic"], -1 if row["partition"] is None else row["partition"]))
    suspicious = {
        row["topic"] for row in rows if row["broken"] or row["messages"] != row["offsets"]
    }
    large = {row["topic"] for row in rows if row["large"]}
    refuse_broken_lines(
        [file for file in files if file.topic in suspicious | large],
        LARGE_LINE_BYTES,
        whole=suspicious,
    )
    if suspicious:
        raise unexplained(next(file for file in files if file.topic in suspicious))
    names = ("topic", "partition", "first", "last", "limit")
    contents = tuple(PartitionContent(*(row[name] for name in names)) for row in rows)
    return contents, tuple(row["messages"] for row in rows)
