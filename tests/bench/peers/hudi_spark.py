"""Hudi: upsert into a merge-on-read table with a bucket index (https://hudi.apache.org/docs/).

python -m tests.bench.peers.hudi_spark FOLDER JARS
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from tests.bench.accounts import COLUMNS
from tests.bench.peers.in_spark import given, session, shown
from tests.bench.peers.serving import OPERATION, serve

_SETTINGS = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}
# The column by which an upsert deletes.
_IS_GONE = "_hoodie_is_deleted"
# What was the fastest of its kinds of tables and of indexes here (`performance.md` §3).
_OPTIONS = {
    "hoodie.table.name": "accounts",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "aid",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": (
        "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
    ),
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "16",
    "hoodie.bulkinsert.shuffle.parallelism": "4",
    "hoodie.upsert.shuffle.parallelism": "4",
}


class HudiSpark:
    """The table in a folder."""

    def __init__(self, folder: str, jars: str) -> None:
        self._folder = Path(folder)
        self._spark = session(self._folder, jars, _SETTINGS)
        self._table = f"{folder}/accounts"

    def load(self, rows: pa.Table) -> None:
        found = given(self._spark, self._folder, rows)
        self._write(found.selectExpr("*", f"false AS {_IS_GONE}"), "bulk_insert")

    def merge(self, changes: pa.Table) -> None:
        found = given(self._spark, self._folder, changes)
        is_gone = f"{OPERATION} = 'd' AS {_IS_GONE}"
        self._write(found.selectExpr(*COLUMNS, is_gone), "upsert")

    def files(self) -> list[str]:
        rows = self._spark.read.format("hudi").load(self._table)
        return shown(rows.select(*COLUMNS), self._folder)

    def _write(self, rows: DataFrame, operation: str) -> None:
        writer = rows.write.format("hudi").options(**_OPTIONS)
        writer.option("hoodie.datasource.write.operation", operation).mode("append").save(
            self._table
        )


if __name__ == "__main__":
    serve(HudiSpark)
