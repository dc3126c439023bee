"""A reader that takes its tables from the newest published cut, while cuts are published.

It reads again and again while `publish` runs, while it is killed with SIGKILL between any two of
its commits, and while the next run finishes what it left. `make test` kills it behind the moment of
publication; `make soak` at all places.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.records import CUTS, STEPS
from lakehouse.steps.runner import execute
from tests.support.campaign import PASSED, begin
from tests.support.runs import open_runs
from tests.support.sampling import EVERY_CASE
from tests.support.transfers import TABLES, Bank, Reader

# Behind the published row and some of the tables' `main`.
SAMPLED = (7,)


def test_no_reader_sees_half_a_transaction_wherever_publish_is_killed(
    spark: SparkSession, settings: Settings, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    campaign = begin(spark, settings, tmp_path, "readers")
    reader, places = campaign.reader, range(1, PASSED["publish.after_commit"] + 1)
    with reader.polling():
        for nth in places if EVERY_CASE else SAMPLED:
            assert campaign.kill("publish.after_commit", nth)
            campaign.finish()
    kills = campaign.kills.total()
    assert reader.halves == {}
    assert len(reader.cuts) > kills
    figure(f"publish killed at {kills} places, {reader.looks} reads of {len(reader.cuts)} cuts")


def test_the_same_reader_sees_halves_where_tables_are_published_one_by_one(
    spark, settings, tmp_path
):
    runs, bank = open_runs(spark, settings, tmp_path, "one_by_one"), Bank("one_by_one")
    runs.run(bank.source)
    bank.transfer(1)
    run_id = "table_by_table"
    context = replace(runs.context(bank.source.archive(tmp_path / run_id), run_id), lone_step=True)
    for step in STEPS[:-1]:
        assert execute(step, context).status == "succeeded"
    ledger, reader = runs.ledger, Reader(settings, "one_by_one")
    cut, applied = ledger.newest_cut("one_by_one"), ledger.newest_run("one_by_one", "apply", run_id)
    assert cut is not None
    assert applied is not None
    for number, table in enumerate(json.loads(applied.detail)["tables"]):
        snapshots = cut.tables | {table["silver"]: table["snapshot"]}
        cut = replace(cut, cut_id=f"{cut.cut_id}_{number}", recorded_at=datetime.now(UTC))
        cut = replace(cut, tables=snapshots)
        ledger.append(CUTS, [cut])
        reader.look()
    assert reader.looks == len(TABLES)
    assert len(reader.halves) == len(TABLES) - 1
