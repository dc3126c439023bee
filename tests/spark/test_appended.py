"""What landed behind a cut is read from the lists of files that came with it, and is all there."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.progress import Progress
from lakehouse.spark.bronze.appended import appends, known_snapshot
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.tables import full_name
from lakehouse.steps.runner import execute
from tests.support.campaign import Campaign, begin

_PLACE = ("topic", "partition", "offset")


def land(campaign: Campaign, run_id: str) -> None:
    campaign.bank.transfer(2)
    outcome = execute("land", campaign.context(run_id))
    assert outcome.status == "succeeded"
    newest = campaign.runs.spark.table("lakehouse.bronze.appended").where(f"run_id = '{run_id}'")
    [(sent_ms,)] = newest.selectExpr("max(unix_millis(timestamp))").collect()
    assert outcome.detail["newest_ms"] == sent_ms


def test_only_what_came_since_is_looked_at_while_nothing_but_appends_came(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = begin(spark, settings, tmp_path, "appended")
    ledger = campaign.runs.ledger
    bronze, cut = Bronze("appended", ledger), ledger.newest_cut("appended")
    assert cut is not None
    known = Progress.from_json(cut.offsets).offsets
    table, before = full_name(bronze.table), bronze.head()
    assert before is not None
    old = {tuple(row) for row in spark.table(table).select(*_PLACE).collect()}
    # Nothing came behind the cut.
    assert known_snapshot(bronze, known) is None

    for run_id in ("one", "two"):
        land(campaign, run_id)

    def found() -> set[tuple[object, ...]]:
        rows = spark.read.options(**appends(known_snapshot(bronze, known))).table(table)
        return {tuple(row) for row in rows.select(*_PLACE).collect()}

    new = {tuple(row) for row in spark.table(table).select(*_PLACE).collect()} - old
    assert new
    assert (known_snapshot(bronze, known), found()) == (before, new)
    spark.sql(
        "CALL lakehouse.system.rewrite_data_files(table => 'bronze.appended', "
        "options => map('rewrite-all', 'true'))"
    )
    assert (known_snapshot(bronze, known), found()) == (before, new)

    # What changes messages, as an erasure does, is none of the appends.
    topic, partition, offset = min(new)
    spark.sql(f"DELETE FROM {table} WHERE topic = '{topic}' AND offset = {offset}")
    assert known_snapshot(bronze, known) is None
    assert found() == (old | new) - {(topic, partition, offset)}
