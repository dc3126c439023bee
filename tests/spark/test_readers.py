"""A reader that takes its tables from the newest published cut, while cuts are published.

It reads again and again while `publish` runs, while it is killed with SIGKILL between any two of
its commits, while the next run finishes what it left, and while older cuts expire. `make test`
kills publish behind the moment of publication; `make soak` at all places.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import DataScan, FileScanTask
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.records import CUTS, STEPS, CutRow
from lakehouse.steps.runner import execute
from tests.support.campaign import PASSED, Campaign, begin
from tests.support.dying_run import LATER, do
from tests.support.runs import open_runs
from tests.support.sampling import EVERY_CASE
from tests.support.transfers import TABLES, Bank, Reader, Rows

# Behind the published row and some of the tables' `main`.
SAMPLED = (7,)
Plans = Mapping[str, tuple[DataScan, list[FileScanTask]]]


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


@pytest.mark.further
def test_a_reader_reads_on_while_maintenance_compacts_and_expires(
    spark: SparkSession, settings: Settings, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    campaign = begin(spark, settings, tmp_path, "reading_on")
    # Each run takes one more account out of the oldest file than the one before.
    for accounts in (1, 2, 3):
        campaign.bank.transfer(accounts)
        campaign.runs.run(campaign.bank.source)
    ledger, reader = campaign.runs.ledger, campaign.reader
    # The two newest cuts are kept whatever their age.
    *_, older, _, newest = [row for row in ledger.cuts("reading_on") if row.state == "published"]
    outdated, begun = planned(campaign, older), planned(campaign, newest)

    with reader.polling():
        do("maintain", campaign.runs.context(run_id="upkeep"), LATER)

    maintained = ledger.newest_run("reading_on", "maintain", "upkeep")
    assert maintained is not None
    assert maintained.status == "succeeded", maintained.message
    assert reader.halves == {}
    assert rows_of(begun) == campaign.bank.rows
    # Else nothing would have been taken away.
    with pytest.raises(FileNotFoundError):
        rows_of(outdated)
    figure(f"{reader.looks} reads during an expiry")


def planned(campaign: Campaign, cut: CutRow) -> Plans:
    """Scans of a cut's tables that have their lists of files, and have read none of these."""
    scans = {}
    for name in json.loads(cut.identities):
        table = campaign.runs.ledger.catalog.load_table(name)
        scan = table.scan(snapshot_id=cut.tables[name])
        scans[name.rpartition("__")[2]] = (scan, list(scan.plan_files()))
    return scans


def rows_of(plans: Plans) -> Rows:
    """What each table has, from the files that its scan has, read now."""
    found = {}
    for name, (scan, tasks) in plans.items():
        arrow = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
        rows = arrow.to_table(tasks)
        pairs = zip(rows["id"].to_pylist(), rows["money"].to_pylist(), strict=True)
        found[name] = sorted(pairs)
    return found
