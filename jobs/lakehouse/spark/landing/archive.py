"""Topic archives in Spark: read and check their messages, and compare them with bronze.

In: `<topic>.jsonl[.gz]` files. Out: one DataFrame of messages, what it holds per topic partition,
or an ArchiveError that names file and line.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.errors import ArchiveError, LandingRefused
from lakehouse.plan.topics.archive import ArchiveFile, PartitionContent
from lakehouse.plan.topics.landing import LandingPlan
from lakehouse.plan.topics.offsets import OffsetRange
from lakehouse.spark.bronze.landed_counts import PartitionCount
from lakehouse.spark.bronze.ranges import within
from lakehouse.spark.landing.archive_lines import (
    line_number,
    refuse_broken_lines,
    refuse_empty,
    unexplained,
)
from lakehouse.spark.landing.archive_parsing import (
    LARGE_LINE_BYTES,
    LINK_PREFIX,
    MESSAGE_COLUMNS,
    parsed_lines,
)
from lakehouse.spark.rewriting.erased_messages import is_erased


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
            refuse_empty(file.path)
            (Path(folder) / f"{LINK_PREFIX}{file.path.name}").symlink_to(file.path.absolute())
        # Kept, because checking, comparing and landing would each parse every line again.
        lines = parsed_lines(spark, folder).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            contents, counts = _contents(lines, files, until)
            yield Archive(tuple(files), lines.select(*MESSAGE_COLUMNS), contents, counts)
        finally:
            lines.unpersist()


def refuse_differences(archive: Archive, bronze: DataFrame, ranges: Sequence[OffsetRange]) -> None:
    """Compare the archive with what is landed of it, byte for byte, but for what was erased since.

    Args:
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
    landed = within(bronze, ranges).select(
        *position, *(F.col(name).alias(f"landed_{name}") for name in compared)
    )
    differs = {name: ~F.col(name).eqNullSafe(F.col(f"landed_{name}")) for name in compared}
    differs["message"] = F.col("landed_headers").isNull()
    found = (
        within(archive.messages, ranges)
        .join(landed, position, how="left")
        .where(f"NOT {is_erased('landed_')}")
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
