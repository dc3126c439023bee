"""Memory: the first load of a large table, in one run, by a driver with a small heap.

`BENCH_ROWS` says how large. Behind it comes what was streamed first, which other messages place.
The session's heap is what the project sets for one machine, where the driver does the tasks too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.tables import full_name
from tests.bench import sizes
from tests.bench.accounts import Batch, checksum, expected
from tests.bench.cpu import total
from tests.bench.messages import first_run
from tests.bench.product import Product
from tests.bench.results import Result, measured

ROWS = sizes.number("ROWS", 10_000_000)
CHANGES = 1_000
_HEAP = 2 * 1024**3


@pytest.mark.timeout(4 * 3600)
def test_a_first_load_needs_no_large_driver(
    spark: SparkSession, settings: Settings, result: Callable[[Result], None]
) -> None:
    jvm = spark.sparkContext._gateway.jvm  # noqa: SLF001 - PySpark has no public way to it
    heap = int(jvm.java.lang.Runtime.getRuntime().maxMemory())
    assert heap <= _HEAP
    product = Product(spark, settings, "first")
    batch = Batch(1, CHANGES, ROWS)
    steps = product.run(first_run(spark, batch), ROWS + CHANGES, (0,))
    told = duckdb.sql(expected([batch], ROWS)).fetchall()[0]
    assert tuple(spark.sql(checksum(full_name(product.silver()))).collect()[0]) == told
    place = ("memory", f"first load of {ROWS:,} rows")
    result(measured(place, "heap", [heap / 1e6], "MB", "at most 2,000"))
    result(measured(place, "process at most", [_peak(jvm) / 1e6], "MB"))
    for name, each in {**steps, "run": total(steps.values())}.items():
        result(measured(place, name, [each.wall], "s"))


def _peak(jvm) -> int:
    """The most memory that the session's process had, in bytes."""
    pid = jvm.java.lang.ProcessHandle.current().pid()
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    assert found is not None
    return int(found[1]) * 1024
