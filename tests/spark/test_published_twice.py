"""A publish that is done once more, since whoever did it first died behind it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.records import STEPS
from lakehouse.steps.runner import execute
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import open_runs

ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])


def test_it_leaves_the_lease_free_for_the_next_run(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs, source = open_runs(spark, settings, tmp_path, "twice"), Postgres("twice")
    source.snapshot(ORDERS, [{"id": 1, "name": "a"}])
    context = replace(runs.context(source.archive(tmp_path / "first")), lone_step=True)
    assert {execute(step, context).status for step in STEPS} == {"succeeded"}

    again = execute("publish", context)

    assert (again.status, "announced already" in again.message) == ("succeeded", True)
    source.transact((ORDERS, "c", None, {"id": 2, "name": "b"}))
    assert {outcome.status for outcome in runs.run(source).values()} == {"succeeded"}
    assert runs.rows("orders", "id", "name") == [(1, "a"), (2, "b")]
