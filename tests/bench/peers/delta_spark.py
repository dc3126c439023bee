"""Delta Lake: MERGE with deletion vectors, in Spark (https://docs.delta.io/).

python -m tests.bench.peers.delta_spark FOLDER JARS
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tests.bench.accounts import COLUMNS
from tests.bench.peers.in_spark import given, session, shown
from tests.bench.peers.serving import OPERATION, serve

_SETTINGS = {
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
        self._spark = session(self._folder, jars, _SETTINGS)
        self._table = f"delta.`{folder}/accounts`"

    def load(self, rows: pa.Table) -> None:
        found = given(self._spark, self._folder, rows)
        found.write.format("delta").save(f"{self._folder}/accounts")

    def merge(self, changes: pa.Table) -> None:
        given(self._spark, self._folder, changes).createOrReplaceTempView("changes")
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
        return shown(self._spark.table(self._table), self._folder)


if __name__ == "__main__":
    serve(DeltaSpark)
