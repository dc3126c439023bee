"""W2 and W5 in a process of its own, whose Spark is where `SPARK_CONF_DIR` says.

    python -m tests.bench.clustered HOME ROWS CHANGES EVENTS      # prints TOLD and JSON

W2 is a batch of changes into a table, W5 a table out of all its events in one batch.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.plan.batches.tables import STATE_ENDING
from lakehouse.spark.session import spark_session
from lakehouse.spark.tables import full_name
from tests.bench.accounts import Batch
from tests.bench.messages import history
from tests.bench.product import Product

# What the line begins with that tells what came of it.
TOLD = "clustered: "
_BATCHES = 10


def main(home: str, *numbers: str) -> None:
    rows, changes, events = map(int, numbers)
    settings = Settings.from_environment({"LAKEHOUSE_HOME": home})
    os.environ.update(spark_environment(settings.home, long_lived=True))
    spark = spark_session("clustered", settings)
    changed = Product(spark, settings, "changed")
    changed.load(rows)
    changed.change(Batch(1, changes, rows))
    half = events // 2
    batches = [Batch(n, half // _BATCHES, half) for n in range(1, _BATCHES + 1)]
    replayed = Product(spark, settings, "replayed")
    replayed.run(history(spark, batches), events, (0,), files=_BATCHES)
    tables = [p.silver() + end for p in (changed, replayed) for end in ("", STATE_ENDING)]
    found = {table: contents(spark, table) for table in tables}
    print(TOLD + json.dumps({"tables": found, "code": code(spark)}), flush=True)
    spark.stop()


def contents(spark: SparkSession, table: str) -> list[int]:
    """How many rows a table has, and a hash over all of its columns, whatever the rows' order."""
    columns = ", ".join(f"`{name}`" for name in spark.table(full_name(table)).columns)
    query = f"SELECT count(*), bit_xor(xxhash64({columns})) FROM {full_name(table)}"
    return list(spark.sql(query).collect()[0])


def code(spark: SparkSession) -> list[str]:
    """Where Python's workers find the product."""

    def where(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import lakehouse.names  # noqa: PLC0415 - in the worker

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"file": [str(Path(lakehouse.names.__file__))]})

    found = spark.range(8, numPartitions=4).mapInArrow(where, "file string").distinct()
    return sorted(row["file"] for row in found.collect())


if __name__ == "__main__":
    main(*sys.argv[1:])
