"""Slices of bronze: the messages of a source between two places in its topic partitions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import SourceConfig
from lakehouse.names import bronze_table
from lakehouse.plan.progress import Progress, ranges_between
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.sql import any_of, in_offsets
from lakehouse.spark.tables import full_name

_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


def read_slice(
    spark: SparkSession,
    source: SourceConfig,
    start: Progress,
    end: LandedOffsets,
    options: Mapping[str, str] = _NO_OPTIONS,
) -> DataFrame:
    """Bronze rows of a source in `[start, end)` of each topic partition.

    Args:
        spark: The session.
        source: The source.
        start: Where it begins.
        end: Where it ends.
        options: Iceberg's for reading.
    """
    bronze = spark.read.options(**options).table(full_name(bronze_table(source.name)))
    return bronze.where(any_of(in_offsets(*each) for each in ranges_between(start, end)))
