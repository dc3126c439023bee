"""What tutorials do: parse the batch, then MERGE INTO a typed Iceberg table."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from tests.bench.accounts import COLUMNS, row

_IMAGE = "struct<" + ",".join(f"{name}:{kind}" for name, kind in COLUMNS.items()) + ">"
_SHAPE = f"struct<before:{_IMAGE},after:{_IMAGE},op:string,source:struct<lsn:bigint>>"
_PLAIN = {"format-version": "2", "write.parquet.compression-codec": "zstd"}
_MODES = ("write.delete.mode", "write.update.mode", "write.merge.mode")
PROPERTIES = {
    "copy-on-write": {**_PLAIN, **dict.fromkeys(_MODES, "copy-on-write")},
    "merge-on-read": {
        **_PLAIN,
        "format-version": "3",
        **dict.fromkeys(_MODES, "merge-on-read"),
    },
}


@dataclass(frozen=True)
class Merged:
    """A table that batches are merged into.

    Attributes:
        table: Its name in the catalog.
    """

    spark: SparkSession
    table: str
    mode: str

    def load(self, rows: int) -> None:
        """Write the first rows."""
        settings = ", ".join(f"'{name}' = '{text}'" for name, text in PROPERTIES[self.mode].items())
        self.spark.range(rows).selectExpr("id AS aid", "0L AS v").createOrReplaceTempView("first")
        self.spark.sql(
            f"CREATE TABLE {self.table} USING iceberg TBLPROPERTIES ({settings}) "
            f"AS SELECT {', '.join(row())} FROM first"
        )

    def merge(self, bronze: str, run_id: str) -> None:
        """The last image of each key that a run has landed, into the table."""
        parsed = (
            f"SELECT from_json(decode(value, 'utf-8'), '{_SHAPE}') AS m, offset FROM {bronze} "
            f"WHERE run_id = '{run_id}'"
        )
        last = (
            "SELECT coalesce(m.after.aid, m.before.aid) AS aid, max_by(m, offset) AS m "
            f"FROM ({parsed}) GROUP BY 1"
        )
        values = ", ".join(f"c.m.after.{name}" for name in COLUMNS)
        updates = ", ".join(f"t.{name} = c.m.after.{name}" for name in COLUMNS if name != "aid")
        self.spark.sql(
            f"MERGE INTO {self.table} AS t USING ({last}) AS c ON t.aid = c.aid "
            "WHEN MATCHED AND c.m.op = 'd' THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET {updates} "
            f"WHEN NOT MATCHED AND c.m.op <> 'd' THEN INSERT ({', '.join(COLUMNS)}) "
            f"VALUES ({values})"
        )
