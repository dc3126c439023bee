"""`lakehouse archive`: all topics of a source, at one moment, as a topic archive."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.config import Settings, SourceConfig, kafka_properties, select_topics
from lakehouse.errors import ArchiveError, LakehouseError
from lakehouse.plan.topics.landing import plan_landing
from lakehouse.plan.topics.offsets import LandedOffsets, OffsetRange
from lakehouse.spark.bronze.ranges import within
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.landing.archive_parsing import MESSAGE_COLUMNS
from lakehouse.spark.landing.archive_writing import write_archive
from lakehouse.spark.landing.kafka import read_messages, read_topics
from lakehouse.spark.session import spark_session
from lakehouse.steps.lifeline import begin_application

ORIGINS = ("kafka", "bronze")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write one archive from the command line's arguments; returns the exit code."""
    parser = argparse.ArgumentParser(description="write a topic archive of one source")
    parser.add_argument("--config", required=True, help="the source's configuration as JSON")
    parser.add_argument("--from", dest="origin", choices=ORIGINS, required=True)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    begin_application()
    settings = Settings.from_environment()
    source = SourceConfig.model_validate_json(options.config)
    try:
        spark = spark_session(f"lakehouse archive {source.name}", settings)
        print(archive(spark, source, settings, options.origin, options.folder), flush=True)
    except LakehouseError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def archive(
    spark: SparkSession, source: SourceConfig, settings: Settings, origin: str, folder: Path
) -> str:
    """Write the archive and say what it holds."""
    read = _from_kafka if origin == "kafka" else _from_bronze
    messages, ranges = read(spark, source, settings)
    # Transaction topics come first in a selection, and their files last.
    topics = tuple(reversed(select_topics(source, {each.topic for each in ranges}).topics))
    sizes = write_archive(messages, topics, folder)
    return "\n".join(
        [
            f"archive: {len(sizes)} topics, {sum(sizes.values())} bytes in {folder}, from {origin}",
            *(
                f"  {each.topic} partition {each.partition}: offsets [{each.start}, {each.end})"
                for each in sorted(ranges)
            ),
        ]
    )


def _from_kafka(
    spark: SparkSession, source: SourceConfig, settings: Settings
) -> tuple[DataFrame, tuple[OffsetRange, ...]]:
    properties = kafka_properties(source, settings)
    topics = read_topics(source, properties)
    ranges = plan_landing(LandedOffsets(), topics.bounds).ranges
    if not ranges:
        raise ArchiveError(
            f"Source {source.name!r}: its {len(topics.bounds)} topics hold no message: expected "
            "at least one to archive"
        )
    return read_messages(spark, properties, ranges), ranges


def _from_bronze(
    spark: SparkSession, source: SourceConfig, settings: Settings
) -> tuple[DataFrame, tuple[OffsetRange, ...]]:
    """All that is landed of the topics as they are now; `main` is one moment."""
    bronze = Bronze(source.name, Ledger(settings))
    head = bronze.head()
    if head is None:
        raise ArchiveError(
            f"Source {source.name!r}: bronze has no message: expected a landed source; do "
            f"`lakehouse land --source {source.name}` first, or archive from Kafka"
        )
    landed = bronze.landed(spark)
    ranges = tuple(
        OffsetRange(topic, number, 0, next_offset, progress.topic_id)
        for topic, progress in landed.topics.items()
        for number, next_offset in progress.next_offsets.items()
    )
    messages = bronze.messages_at(spark, head)
    return within(messages, ranges).select(*map(F.col, MESSAGE_COLUMNS)), ranges
