"""A Spark application that touches what runs touch, so that the class archive has those classes.

`infra.setup.classes` starts it once, with a folder for its tables. Its results are of no interest.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_TABLE = "lakehouse.training.t"
_STATEMENTS = (
    "CREATE NAMESPACE lakehouse.training",
    f"""CREATE TABLE {_TABLE} (id bigint, name string, place struct<at: timestamp>, day date)
    USING iceberg PARTITIONED BY (days(day)) TBLPROPERTIES ('format-version' = '2')""",
    f"""INSERT INTO {_TABLE}
    SELECT id, string(id), struct(timestamp_millis(id)), DATE '2026-01-01' FROM range(10)""",
    f"ALTER TABLE {_TABLE} ADD COLUMN added decimal(20, 4)",
    f"ALTER TABLE {_TABLE} CREATE BRANCH staged",
    f"""MERGE INTO {_TABLE}.branch_staged t USING (SELECT id FROM range(5, 15)) s ON t.id = s.id
    WHEN MATCHED AND s.id < 7 THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'x'
    WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, 'y')""",
    f"DELETE FROM {_TABLE}.branch_staged WHERE id IN (SELECT id FROM range(2))",
    f"UPDATE {_TABLE}.branch_staged SET name = 'z' WHERE id = 9",
    f"CALL lakehouse.system.fast_forward('{_TABLE}', 'main', 'staged')",
    f"ALTER TABLE {_TABLE} CREATE TAG cut_1",
)
_QUERIES = (
    f"SELECT name, count(*), max(place.at), sum(added) FROM {_TABLE} GROUP BY name ORDER BY name",
    f"SELECT s.operation FROM {_TABLE}.snapshots s JOIN {_TABLE}.refs r USING (snapshot_id)",
    f"SELECT *, max(id) OVER (PARTITION BY name ORDER BY id) AS m, xxhash64(id) FROM {_TABLE}",
    """SELECT try_variant_get(v, '$.a', 'struct<b: string, c: array<string>>') AS s,
    to_json(v) AS j, schema_of_variant(v) AS t, transform(array(1), x -> x + 1) AS a,
    from_json('{}', 'a double') AS d, regexp_replace('a', 'a', 'b') AS r
    FROM (SELECT try_parse_json('{"a": {"b": 1}}') AS v)""",
)


def train(folder: str) -> None:
    """Create, change, branch and read a table below a folder."""
    builder = SparkSession.builder.appName("training")
    for name, value in {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.extensions": _EXTENSIONS,
        "spark.sql.catalog.lakehouse": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lakehouse.type": "jdbc",
        "spark.sql.catalog.lakehouse.uri": f"jdbc:sqlite:{folder}/catalog.db",
        "spark.sql.catalog.lakehouse.warehouse": f"file://{folder}/warehouse",
        "spark.sql.catalog.lakehouse.jdbc.schema-version": "V1",
        "spark.sql.shuffle.partitions": "2",
        # As runs over few rows are.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    for statement in _STATEMENTS:
        session.sql(statement)
    for query in _QUERIES:
        session.sql(query).localCheckpoint().collect()
    session.stop()


if __name__ == "__main__":
    train(sys.argv[1])
