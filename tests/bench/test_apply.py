"""W2 and W4: a batch of changes into a table, against the limit, MERGE and other systems.

`BENCH_ROWS` (sizes of the table, `100000,1000000`), `BENCH_CHANGES` (10000), `BENCH_ROUNDS` (3,
behind two that warm up), `BENCH_PEERS` (none with 0). One program after the other in each round;
CPU seconds of a process and all that it started, and wall seconds; each result is compared with
DuckDB's. The product and MERGE parse the messages, other systems get what they amount to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from math import log10
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.session import tune
from lakehouse.spark.tables import full_name
from tests.bench.accounts import Batch, checksum, expected
from tests.bench.cpu import Cost, median, took, total
from tests.bench.limits import data_files, limit
from tests.bench.merges import PROPERTIES, Merged
from tests.bench.peer import PeerProcess, peers
from tests.bench.product import REST, Product

ROWS = [int(text) for text in os.environ.get("BENCH_ROWS", "100000,1000000").split(",")]
CHANGES = int(os.environ.get("BENCH_CHANGES", "10000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
_WARM = 2
PEERS = bool(int(os.environ.get("BENCH_PEERS", "1")))
# Program → what each round took.
Found = dict[str, list[Cost]]


@pytest.mark.timeout(4 * 3600)
def test_a_batch_costs_what_it_changes(
    spark: SparkSession, settings: Settings, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    medians = {}
    for rows in ROWS:
        folder = tmp_path / str(rows)
        with peers(folder / "peers", rows) if PEERS else nullcontext({}) as others:
            found = _rounds(spark, settings, folder, rows, others)
        medians[rows] = {name: median(each[_WARM:]) for name, each in found.items()}
        limit = medians[rows]["limit"].cpu
        shown = "; ".join(
            f"{name} {cost.cpu:.2f} ({cost.cpu / limit:.1f}x), {cost.wall:.2f}"
            for name, cost in medians[rows].items()
        )
        figure(f"{CHANGES} changes into {rows} rows, CPU s (times the limit), wall s: {shown}")
    for smaller, larger in pairwise(ROWS):
        growth = medians[larger]["apply"].cpu / medians[smaller]["apply"].cpu
        slope = log10(growth) / log10(larger / smaller)
        figure(f"elasticity of apply from {smaller} to {larger} rows: {slope:.2f}")


def _rounds(
    spark: SparkSession,
    settings: Settings,
    folder: Path,
    rows: int,
    others: Mapping[str, PeerProcess],
) -> Found:
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
        silver = data_files(settings, product.silver())
        for step, cost in product.change(batches[-1]).items():
            found.setdefault(step, []).append(cost)
        bronze = full_name(f"bronze.{name}")
        landed = data_files(settings, f"bronze.{name}", f"run_id = '{product.newest}'")
        found.setdefault("limit", []).append(limit(folder / str(number), landed, silver))
        for mode, each in merged.items():
            found.setdefault(mode, []).append(took(partial(each.merge, bronze, product.newest))[0])
        for other, peer in others.items():
            found.setdefault(other, []).append(peer.merge(batches[-1]))
    told = duckdb.sql(expected(batches, rows)).fetchall()[0]
    for table in (full_name(product.silver()), *(each.table for each in merged.values())):
        assert tuple(spark.sql(checksum(table)).collect()[0]) == told, table
    for other, peer in others.items():
        assert peer.checksum() == told, other
    steps = zip(*(found[step] for step in ("land", *REST)), strict=True)
    found["run"] = [total(each) for each in steps]
    return found
