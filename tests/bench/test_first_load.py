"""Memory: the first load of a large table, in one run, by a driver with a small heap.

`BENCH_ROWS` (1000000; the promise is 10000000 by 2 GB). The session's heap is what the project sets
for one machine, where the driver does the tasks too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.tables import full_name
from tests.bench.accounts import checksum, expected
from tests.bench.cpu import total
from tests.bench.product import Product

ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
_HEAP = 2 * 1024**3


@pytest.mark.timeout(4 * 3600)
def test_a_first_load_needs_no_large_driver(
    spark: SparkSession, settings: Settings, figure: Callable[[str], None]
) -> None:
    jvm = spark.sparkContext._gateway.jvm  # noqa: SLF001 - PySpark has no public way to it
    heap = int(jvm.java.lang.Runtime.getRuntime().maxMemory())
    assert heap <= _HEAP
    product = Product(spark, settings, "first")
    steps = product.load(ROWS)
    told = duckdb.sql(expected([], ROWS)).fetchall()[0]
    assert tuple(spark.sql(checksum(full_name(product.silver()))).collect()[0]) == told
    cost = total(steps.values())
    shown = "; ".join(f"{name} {each.wall:.0f}" for name, each in steps.items())
    figure(
        f"first load of {ROWS} rows by a heap of {heap / 1e6:.0f} MB: {cost.cpu:.0f} CPU s, "
        f"{cost.wall:.0f} s ({shown}), the process took {_peak(jvm) / 1e6:.0f} MB at most"
    )


def _peak(jvm) -> int:
    """The most memory that the session's process had, in bytes."""
    pid = jvm.java.lang.ProcessHandle.current().pid()
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", text)
    assert found is not None
    return int(found[1]) * 1024
