"""A step that is killed with SIGKILL between two of its commits, and what the next run makes of it.

The process really dies; its Spark application dies with it. Silver must end as one clean run
would leave it, and a cut that was announced must be finished, never taken back.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold, open_runs

ROWS = [(1, "a"), (2, "c")]


def history(name: str) -> Postgres:
    source = Postgres(name)
    table = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
    source.snapshot(table, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    source.transact(
        (table, "u", None, {"id": 2, "name": "c"}), (table, "c", None, {"id": 3, "name": "d"})
    )
    source.transact((table, "d", {"id": 3, "name": "d"}, None))
    return source


@dataclass(frozen=True)
class Death:
    """After which write the process dies, and whether its cut was announced by then."""

    table: str
    nth: int
    announced: bool


def die(runs: Runs, archive: Path, death: Death) -> None:
    """Do a whole run in a process of its own that dies after a write."""
    command = [sys.executable, "-m", "tests.support.dying_step", str(runs.settings.home)]
    command += [runs.source.name, str(archive), death.table, str(death.nth)]
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run(command, cwd=root, check=False, timeout=500)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("name", "death"),
    [
        pytest.param(
            *("killapply", Death("quality.runs", 3, announced=False)), marks=pytest.mark.further
        ),
        pytest.param(
            *("killpending", Death("quality.cuts", 1, announced=True)), marks=pytest.mark.further
        ),
        ("killpublished", Death("quality.cuts", 2, announced=True)),
    ],
)
def test_the_next_run_ends_as_one_clean_run_would(
    spark: SparkSession, settings: Settings, tmp_path: Path, name: str, death: Death
) -> None:
    runs, source = open_runs(spark, settings, tmp_path, name), history(name)
    die(runs, source.archive(tmp_path / "first"), death)

    outcomes = runs.run(source)

    assert [outcome.status for outcome in outcomes.values()] == ["succeeded"] * 5
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", "id", "name") == ROWS
    assert [(row["kind"], row["key"]) for row in runs.state("orders")] == [("delete", '["3"]')]
    cuts = runs.context().ledger.cuts(name)
    assert {cut.cut_id for cut in cuts if cut.state == "pending"} == {
        cut.cut_id for cut in cuts if cut.state == "published"
    }
    assert any(cut.run_id == "killed" for cut in cuts) is death.announced
