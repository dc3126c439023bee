"""A flood of messages that cannot be applied ends the run in words, and fills no table."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.staging.tally import MAX_QUARANTINED
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import open_runs


def test_more_than_a_run_may_quarantine_fails_it_and_quarantines_none(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs, pg = open_runs(spark, settings, tmp_path, "flood"), Postgres("flood")
    table = Table("orders", [column("id", "int32", optional=False)])
    pg.snapshot(table, [{"id": 1}])
    for _ in range(MAX_QUARANTINED + 1):
        pg.send_raw("flood.public.orders", None, "{")
    outcomes = runs.run(pg, ("land", "check", "apply"))
    assert outcomes["land"].status == "succeeded"
    assert outcomes["apply"].status == "failed"
    assert f"More than {MAX_QUARANTINED} messages cannot be applied" in outcomes["apply"].message
    assert [row for row in runs.ledger.quarantine("flood") if row.topic] == []
