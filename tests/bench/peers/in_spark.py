"""What peers that run in Spark have in common: a session of their own, rows given by a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

_SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1500m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
}


def session(folder: Path, jars: str, settings: Mapping[str, str]) -> SparkSession:
    """The session of a peer.

    Args:
        folder: Where its tables are; is made.
        jars: With commas between them.
        settings: What it needs beside.
    """
    folder.mkdir(parents=True, exist_ok=True)
    own = {"spark.jars": jars, "spark.sql.warehouse.dir": str(folder)}
    builder = SparkSession.builder
    for name, text in {**_SETTINGS, **settings, **own}.items():
        builder = builder.config(name, text)
    return builder.getOrCreate()


def given(spark: SparkSession, folder: Path, rows: pa.Table) -> DataFrame:
    """Rows by a file: what passes through the driver would be counted against Spark."""
    file = str(folder / "given.parquet")
    pq.write_table(rows, file)
    return spark.read.parquet(file)


def shown(rows: DataFrame, folder: Path) -> list[str]:
    """Files with nothing but the rows: a table's own hold what others take out."""
    made = folder / "shown"
    rows.write.mode("overwrite").parquet(str(made))
    return [str(file) for file in made.glob("*.parquet")]
