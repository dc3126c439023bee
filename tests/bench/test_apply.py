"""W2 and W4: a batch of changes into a table, against the limit and the tutorial's MERGE.

`BENCH_ROWS` (sizes of the table, `100000,1000000`), `BENCH_CHANGES` (10000), `BENCH_ROUNDS` (3,
behind two that warm up). One program after the other in each round; CPU seconds of this process and
all that it started; each result is compared with DuckDB's.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import log10
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.ledger import Ledger
from lakehouse.spark.session import tune
from lakehouse.spark.tables import full_name
from tests.bench.accounts import Batch, checksum, expected
from tests.bench.cpu import cpu_seconds
from tests.bench.merges import PROPERTIES, Merged
from tests.bench.product import REST, Product

ROWS = [int(text) for text in os.environ.get("BENCH_ROWS", "100000,1000000").split(",")]
CHANGES = int(os.environ.get("BENCH_CHANGES", "10000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
_WARM = 2
# Program → CPU seconds of each round.
Found = dict[str, list[float]]


@pytest.mark.timeout(4 * 3600)
def test_a_batch_costs_what_it_changes(
    spark: SparkSession, settings: Settings, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    medians = {}
    for rows in ROWS:
        found = _rounds(spark, settings, tmp_path / str(rows), rows)
        medians[rows] = {name: statistics.median(each[_WARM:]) for name, each in found.items()}
        limit = medians[rows]["limit"]
        shown = "; ".join(
            f"{name} {cpu:.2f} ({cpu / limit:.1f}x)" for name, cpu in medians[rows].items()
        )
        figure(f"{CHANGES} changes into {rows} rows, CPU s (times the limit): {shown}")
    for smaller, larger in pairwise(ROWS):
        growth = medians[larger]["apply"] / medians[smaller]["apply"]
        slope = log10(growth) / log10(larger / smaller)
        figure(f"elasticity of apply from {smaller} to {larger} rows: {slope:.2f}")


def _rounds(spark: SparkSession, settings: Settings, folder: Path, rows: int) -> Found:
    name = f"bench_{rows}"
    product, found = Product(spark, settings, name), Found()
    product.load(rows)
    tune(spark, rows)
    merged = {
        mode: Merged(spark, full_name(f"silver_{name}.{mode.replace('-', '_')}"), mode)
        for mode in PROPERTIES
    }
    for each in merged.values():
        each.load(rows)
    batches = []
    for number in range(1, _WARM + ROUNDS + 1):
        batches.append(Batch(number, CHANGES, rows))
        silver = _files(settings, product.silver())
        for step, cost in product.change(batches[-1]).items():
            found.setdefault(step, []).append(cost.cpu)
        bronze = full_name(f"bronze.{name}")
        landed = _files(settings, f"bronze.{name}", f"run_id = '{product.newest}'")
        found.setdefault("limit", []).append(_limit(folder / str(number), landed, silver))
        for mode, each in merged.items():
            found.setdefault(mode, []).append(
                _measured(partial(each.merge, bronze, product.newest))
            )
    told = duckdb.sql(expected(batches, rows)).fetchall()[0]
    for table in (full_name(product.silver()), *(each.table for each in merged.values())):
        assert tuple(spark.sql(checksum(table)).collect()[0]) == told, table
    found["run"] = [sum(each) for each in zip(*(found[s] for s in ("land", *REST)), strict=True)]
    return found


def _files(settings: Settings, table: str, where: str = "") -> list[str]:
    """The data files of `main`, of those that may have such rows."""
    loaded = Ledger(settings).catalog.load_table(table)
    scan = loaded.scan(row_filter=where) if where else loaded.scan()
    return [urlsplit(task.file.file_path).path for task in scan.plan_files()]


def _limit(folder: Path, messages: list[str], silver: list[str]) -> float:
    """CPU seconds of the limit program's second round, in a process of its own."""
    asked = {"messages": messages, "silver": silver, "out": str(folder), "rounds": 2}
    command = [sys.executable, "-m", "tests.bench.limit", json.dumps(asked)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    found = json.loads(ended.stdout)
    assert found["new"] > 0, found
    return float(found["cpu"])


def _measured(work: Callable[[], None]) -> float:
    before = cpu_seconds()
    work()
    return cpu_seconds() - before
