"""How the bronze table of a source is made: its columns, its partitioning, its properties."""

from __future__ import annotations

from pyspark.sql import types as T

_HEADERS = T.ArrayType(
    T.StructType([T.StructField("key", T.StringType()), T.StructField("value", T.BinaryType())])
)
SCHEMA = T.StructType(
    [
        T.StructField("topic", T.StringType()),
        T.StructField("partition", T.IntegerType()),
        T.StructField("offset", T.LongType()),
        T.StructField("timestamp", T.TimestampType()),
        T.StructField("timestamp_type", T.IntegerType()),
        T.StructField("key", T.BinaryType()),
        T.StructField("value", T.BinaryType()),
        T.StructField("headers", _HEADERS),
        T.StructField("topic_id", T.StringType()),
        T.StructField("landed_at", T.TimestampType()),
        T.StructField("run_id", T.StringType()),
    ]
)
PARTITIONING = ("days(landed_at)",)
PROPERTIES = {
    "format-version": "2",
    # A landing has one day: with these, each Spark task writes the rows that it read, in order,
    # into one file, and nothing is shuffled. Reads prune by the files' bounds.
    "write.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
    "write.target-file-size-bytes": str(4 * 1024**3),
    "write.parquet.compression-codec": "zstd",
    # Text is never cut off in the bounds that prune by topic.
    "write.metadata.metrics.default": "none",
    "write.metadata.metrics.column.topic": "full",
    "write.metadata.metrics.column.topic_id": "full",
    "write.metadata.metrics.column.partition": "full",
    "write.metadata.metrics.column.offset": "full",
    "write.metadata.metrics.column.timestamp": "full",
    "write.metadata.metrics.column.landed_at": "full",
    "write.metadata.metrics.column.run_id": "full",
    # Landings and compactions of one table may come at once.
    "commit.retry.num-retries": "20",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}
