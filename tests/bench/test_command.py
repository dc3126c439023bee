"""A first run by command, of an archive: from the command to the cut, each in a home of its own.

`BENCH_MESSAGES_OF_RUNS` (`5000,50000,200000,1000000`, half of them a first load), `BENCH_ROUNDS`
(3). Java's start counts, and which compilers it gets: what else is measured here is a session that
lives long.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.control.ledger import Ledger
from tests.bench import sizes
from tests.bench.accounts import COLUMNS, Batch, checksum, expected
from tests.bench.cpu import Cost, took
from tests.bench.messages import DECLARED, PREFIX, history, table_name, topic
from tests.bench.results import Result, measured

MESSAGES = sizes.numbers("MESSAGES_OF_RUNS", "5000,50000,200000,1000000")
ROUNDS = sizes.number("ROUNDS", 3)
_BATCHES, _NAME = 10, "bench"
_COMMAND = Path(sys.executable).parent / "lakehouse"
# What the session of the benchmark has set for itself.
_ITS_OWN = ("SPARK_", "LAKEHOUSE_", "JAVA_HOME")
_LINE = (
    "to_json(struct(topic, 0 AS partition, offset, unix_millis(timestamp) AS timestamp, "
    "string(key) AS key, string(value) AS value, array() AS headers))"
)


@pytest.mark.timeout(4 * 3600)
def test_a_first_run_by_command_ends_in_the_source_s_rows(
    spark: SparkSession, tmp_path: Path, result: Callable[[Result], None]
) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / f"{_NAME}.toml").write_text(_source(), encoding="utf-8")
    for count in MESSAGES:
        rows = count // 2
        batches = [Batch(n, rows // _BATCHES, rows) for n in range(1, _BATCHES + 1)]
        archive = _archive(spark, batches, tmp_path / f"archive_{count}")
        told = duckdb.sql(expected(batches, rows)).fetchall()[0]
        costs = []
        for number in range(ROUNDS):
            home = tmp_path / f"home_{count}_{number}"
            costs.append(_run(home, sources, archive))
            assert _silver(home) == told, home
        place = ("command", f"a first run of {count:,} messages from an archive")
        result(measured(place, "start to end of the command", (c.wall for c in costs), "s"))
        result(measured(place, "start to end of the command", (c.cpu for c in costs), "CPU s"))


def _source() -> str:
    columns = "".join(
        f'{name} = {{ type = "{DECLARED[kind]}" }}\n' for name, kind in COLUMNS.items()
    )
    head = f'connector = "postgresql"\ntopic_prefix = "{PREFIX}"\n'
    return f'{head}[tables."public.{table_name(0)}".columns]\n{columns}'


def _archive(spark: SparkSession, batches: list[Batch], folder: Path) -> Path:
    written = folder.with_name(f"{folder.name}_parts")
    history(spark, batches).selectExpr(_LINE).coalesce(1).write.text(str(written))
    [part] = written.glob("part-*.txt")
    folder.mkdir()
    part.rename(folder / f"{topic(0)}.jsonl")
    return folder


def _run(home: Path, sources: Path, archive: Path) -> Cost:
    given = {name: text for name, text in os.environ.items() if not name.startswith(_ITS_OWN)}
    variables = {**given, "LAKEHOUSE_HOME": str(home), "LAKEHOUSE_SOURCES": str(sources)}
    command = [str(_COMMAND), "run", "--source", _NAME, "--archive", str(archive)]
    cost, ended = took(
        partial(subprocess.run, command, env=variables, capture_output=True, text=True, check=False)
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    return cost


def _silver(home: Path) -> tuple[object, ...]:
    """What the table has, read by PyIceberg and summed by DuckDB."""
    catalog = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(home)})).catalog
    found = catalog.load_table(f"silver_{_NAME}.public__{table_name(0)}").scan(
        selected_fields=tuple(COLUMNS)
    )
    with duckdb.connect() as database:
        database.register("silver", found.to_arrow())
        return database.sql(checksum("silver")).fetchall()[0]
