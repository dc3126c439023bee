"""Programs that race: the same batches into the same rows, one program after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import duckdb
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.session import tune
from lakehouse.spark.tables import full_name
from tests.bench.accounts import Batch, checksum, expected
from tests.bench.cpu import Cost, took
from tests.bench.limits import data_files, limit
from tests.bench.merges import Merged
from tests.bench.messages import KEYS
from tests.bench.peer import PEERS, PeerProcess
from tests.bench.product import Product
from tests.bench.results import Result, cpu_ratios, measured, wall_ratios

_APPLY, _LIMIT = "apply", "limit"
# Program → the mode of Iceberg's MERGE.
MODES = {"copy-on-write MERGE": "copy-on-write", "merge-on-read MERGE": "merge-on-read"}
# What is asked for: of the limit's CPU by key, and of apply's by program.
_MOST = {"bigint": 5, "uuid": 8, "composite": 8}
_LEAST = {"copy-on-write MERGE": "at least 20", "merge-on-read MERGE": "at least 3"}


@dataclass
class Race:
    """Programs and what they took.

    Attributes:
        folder: Where the limit writes.
        rows: How many rows there are at first.
        key: What names a row; only our own program and the limit know others than numbers.
        others: The peers.
        merged: Program → the table that it merges into.
        costs: Program → what each round took.
    """

    spark: SparkSession
    settings: Settings
    folder: Path
    rows: int
    key: str = "bigint"
    others: Mapping[str, PeerProcess] = field(default_factory=dict)
    merged: dict[str, Merged] = field(default_factory=dict)
    costs: dict[str, list[Cost]] = field(default_factory=dict)

    def run(self, changes: int, rounds: int) -> None:
        """All rounds; what each program has afterwards is compared with DuckDB's."""
        product = Product(self.spark, self.settings, f"bench_{self.rows}_{self.key}", key=self.key)
        product.load(self.rows)
        # The limit and MERGE parse the messages, too.
        product.parses_again = True
        tune(self.spark, self.rows)
        if self.key == "bigint":
            self._open(product)
        batches = [Batch(number, changes, self.rows) for number in range(1, rounds + 1)]
        for batch in batches:
            self._round(product, batch)
        told = duckdb.sql(expected(batches, self.rows)).fetchall()[0]
        for table in (full_name(product.silver()), *(m.table for m in self.merged.values())):
            assert tuple(self.spark.sql(checksum(table)).collect()[0]) == told, table
        for name, peer in self.others.items():
            assert peer.checksum() == told, name

    def _open(self, product: Product) -> None:
        for name, mode in MODES.items():
            table = full_name(f"silver_{product.name}.{mode.replace('-', '_')}")
            self.merged[name] = Merged(self.spark, table, mode)
            self.merged[name].load(self.rows)

    def _round(self, product: Product, batch: Batch) -> None:
        files, bronze = data_files(self.settings, product.silver()), f"bronze.{product.name}"
        for step, cost in product.change(batch).items():
            self._add(step, cost)
        messages = data_files(self.settings, bronze, f"run_id = '{product.newest}'")
        out = self.folder / str(batch.number)
        self._add(_LIMIT, limit(out, messages, files, KEYS[self.key].columns))
        for name, each in self.merged.items():
            work = partial(each.merge, full_name(bronze), product.newest)
            self._add(name, took(work)[0])
        for name, peer in self.others.items():
            self._add(name, peer.merge(batch))

    def _add(self, name: str, cost: Cost) -> None:
        self.costs.setdefault(name, []).append(cost)

    def results(self, changes: int, warm: int) -> Iterator[Result]:
        """CPU and wall of each program behind the rounds that warm up, and what is asked for."""
        place = ("W2/W4", f"{changes:,} changes into {self.rows:,} rows, {self.key} key")
        costs = {name: each[warm:] for name, each in self.costs.items()}
        for name, each in costs.items():
            yield measured(place, name, (cost.cpu for cost in each), "CPU s")
            yield measured(place, name, (cost.wall for cost in each), "s")
        mine, times = costs[_APPLY], "times the CPU"
        beside = cpu_ratios(mine, costs[_LIMIT])
        yield measured(place, "apply beside the limit", beside, times, f"at most {_MOST[self.key]}")
        for name in (*MODES, *PEERS):
            if name in costs:
                both, least = f"{name} beside apply", _LEAST.get(name, "more than 1")
                yield measured(place, both, cpu_ratios(costs[name], mine), times, least)
                walls = wall_ratios(costs[name], mine)
                yield measured(place, both, walls, "times the wall time", "more than 1")
