"""Delta Lake: MERGE with deletion vectors, in Spark (https://docs.delta.io/).

python -m tests.bench.peers.delta_spark FOLDER JARS
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.bench.accounts import COLUMNS
from tests.bench.peers.serving import OPERATION, serve

_SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1500m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "true",
    # 50 is made for larger machines and costs seconds here.
    "spark.databricks.delta.snapshotPartitions": "2",
}


class DeltaSpark:
    """The table in a folder."""

    def __init__(self, folder: str, jars: str) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        builder = SparkSession.builder.config("spark.jars", jars)
        for name, text in _SETTINGS.items():
            builder = builder.config(name, text)
        self._spark = builder.config("spark.sql.warehouse.dir", folder).getOrCreate()
        self._table = f"delta.`{folder}/accounts`"

    def load(self, rows: pa.Table) -> None:
        self._rows(rows).write.format("delta").save(f"{self._folder}/accounts")

    def merge(self, changes: pa.Table) -> None:
        self._rows(changes).createOrReplaceTempView("changes")
        updates = ", ".join(f"t.{name} = c.{name}" for name in COLUMNS)
        values = ", ".join(f"c.{name}" for name in COLUMNS)
        self._spark.sql(
            f"MERGE INTO {self._table} AS t USING changes AS c ON t.aid = c.aid "
            f"WHEN MATCHED AND c.{OPERATION} = 'd' THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET {updates} "
            f"WHEN NOT MATCHED AND c.{OPERATION} <> 'd' THEN INSERT ({', '.join(COLUMNS)}) "
            f"VALUES ({values})"
        )

    def files(self) -> list[str]:
        """Written anew: what deletion vectors take out is in the table's own files."""
        shown = self._folder / "shown"
        self._spark.table(self._table).write.mode("overwrite").parquet(str(shown))
        return [str(file) for file in shown.glob("*.parquet")]

    def _rows(self, rows: pa.Table):  # type: ignore[no-untyped-def]
        """By a file: rows that pass through the driver would be counted against Spark."""
        file = str(self._folder / "given.parquet")
        pq.write_table(rows, file)
        return self._spark.read.parquet(file)


if __name__ == "__main__":
    serve(DeltaSpark(*sys.argv[1:]))
