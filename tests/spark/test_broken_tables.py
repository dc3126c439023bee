"""Tables that somebody else broke: `lakehouse doctor` names the file, `--repair` mends them.

Files are removed, cut off and flipped for real, in data, lists of files and metadata.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.inspection.repairing import repair
from lakehouse.inspection.tables import read_all
from lakehouse.plan.doctor.findings import Finding
from lakehouse.plan.doctor.tables import Role, judge_tables
from lakehouse.plan.rebuilding import Rebuild
from lakehouse.spark.lease_table import LEASES
from lakehouse.steps.runner import execute
from tests.support.campaign import Campaign, begin


def local(location: str) -> Path:
    return Path(urlsplit(location).path)


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def flip(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:4] + b"\xff" * 40 + file.read_bytes()[44:])


def damaged(spark: SparkSession, settings: Settings, folder: Path, name: str) -> Campaign:
    """A source of which three cuts are published."""
    campaign = begin(spark, settings, folder, name)
    for _ in range(2):
        campaign.bank.transfer(2)
        campaign.runs.run(campaign.bank.source)
    return campaign


def data_file(campaign: Campaign, table: str, number: int) -> Path:
    """One of the files of `main`, in the order of their commits."""
    scan = campaign.runs.ledger.catalog.load_table(table).scan()
    files = [local(task.file.file_path) for task in scan.plan_files()]
    return sorted(files, key=lambda file: file.stat().st_mtime)[number]


def found(campaign: Campaign) -> list[Finding]:
    source = campaign.runs.source
    return list(judge_tables(read_all(source, campaign.runs.ledger), source.name))


def mend(campaign: Campaign) -> tuple[list[str], tuple[str, ...]]:
    """As the command does, whose rebuild is an application of its own."""
    runs = campaign.runs
    done, left = repair(runs.source, runs.ledger, "mended")
    if left:
        context = replace(runs.context(run_id="rebuilt"), rebuild=Rebuild(left))
        for step in ("apply", "validate", "publish"):
            outcome = execute(step, context)
            assert outcome.status == "succeeded", outcome.message
    return done, left


def is_mended(campaign: Campaign) -> None:
    """Nothing is found any more, and the next run ends like the source."""
    assert found(campaign) == []
    campaign.bank.transfer(1)
    campaign.finish(readable=False)


@pytest.mark.parametrize("damage", [cut_off, pytest.param(Path.unlink, marks=pytest.mark.further)])
def test_a_data_file_of_silver_that_is_gone_is_named_and_its_table_made_again(
    spark: SparkSession, settings: Settings, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    name = f"broken_{damage.__name__}"
    campaign = damaged(spark, settings, tmp_path, name)
    assert found(campaign) == []
    file = data_file(campaign, f"silver_{name}.public__giro", 0)
    damage(file)

    [finding] = found(campaign)
    assert finding.subject == f"table silver_{name}.public__giro"
    assert file.name in finding.value
    assert "makes it again from bronze" in finding.next_step
    assert mend(campaign) == ([], ("public.giro",))
    is_mended(campaign)


@pytest.mark.further
def test_flipped_bytes_of_silver_are_written_again_by_a_rebuild(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = damaged(spark, settings, tmp_path, "broken_bytes")
    flip(data_file(campaign, "silver_broken_bytes.public__giro", -1))

    context = replace(campaign.runs.context(), rebuild=Rebuild(("public.giro",)))
    outcomes = [execute(step, context) for step in ("apply", "validate", "publish")]

    assert "the old rows cannot be read; 4 rows in their place" in outcomes[0].message
    is_mended(campaign)


@pytest.mark.further
@pytest.mark.parametrize(
    "table",
    [
        "quality.cuts",
        "silver_broken_torn.public__cash",
        "bronze.broken_torn",
        LEASES,
    ],
)
def test_torn_metadata_is_left_for_the_metadata_before(
    spark: SparkSession, settings: Settings, tmp_path: Path, table: str
) -> None:
    name = f"broken_torn_{table.rpartition('.')[2]}"
    campaign = damaged(spark, settings, tmp_path, name)
    table = table.replace("broken_torn", name)
    location = campaign.runs.ledger.catalog.load_table(table).metadata_location
    cut_off(local(location))

    [finding] = found(campaign)
    assert finding.what == f"metadata {location}"
    done, left = mend(campaign)
    assert [line.partition(":")[0] for line in done] == [table]
    assert left == ()
    is_mended(campaign)


def as_behind_the_move_of_main(campaign: Campaign, table: str, snapshot: int) -> str:
    """Let the catalog point to the metadata that was written when `main` got a snapshot."""
    loaded = campaign.runs.ledger.catalog.load_table(table)
    log = [each.metadata_file for each in loaded.metadata.metadata_log] + [loaded.metadata_location]
    moved = [json.loads(local(each).read_text())["refs"].get("main", {}) for each in log]
    place = next(at for at, main in enumerate(moved) if main.get("snapshot-id") == snapshot)
    file = campaign.runs.settings.catalog_uri.removeprefix("sqlite:///")
    with sqlite3.connect(file) as catalog:
        catalog.execute(
            "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ? "
            "WHERE metadata_location = ?",
            (log[place], log[place - 1], loaded.metadata_location),
        )
    return log[place]


@pytest.mark.further
def test_a_table_that_lost_the_move_of_main_gets_the_newest_cut_again(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    name = "broken_move"
    campaign = damaged(spark, settings, tmp_path, name)
    table = f"silver_{name}.public__giro"
    cut = campaign.runs.ledger.newest_cut(name)
    assert cut is not None
    cut_off(local(as_behind_the_move_of_main(campaign, table, cut.tables[table])))

    [done], left = mend(campaign)

    assert done.startswith(f"{table}: the catalog points to ")
    assert left == ("public.giro",)
    is_mended(campaign)


def test_a_landing_whose_files_are_gone_is_taken_back_and_landed_again(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = damaged(spark, settings, tmp_path, "broken_landing")
    data_file(campaign, "bronze.broken_landing", -1).unlink()

    [finding] = found(campaign)
    assert "takes 1 commits back" in finding.next_step
    done, left = mend(campaign)
    assert done == ["bronze.broken_landing: 1 commits without their files taken back"]
    assert left == ()
    is_mended(campaign)


@pytest.mark.further
def test_raw_messages_that_only_a_backup_has_are_named(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = damaged(spark, settings, tmp_path, "broken_bronze")
    file = data_file(campaign, "bronze.broken_bronze", 0)
    kept = file.read_bytes()
    file.unlink()

    [facts] = [
        each for each in read_all(campaign.runs.source, campaign.runs.ledger) if each.missing
    ]
    assert facts.role is Role.BRONZE
    [finding] = found(campaign)
    assert file.name in finding.value
    assert finding.next_step.startswith("bring the named file back from a backup")
    assert mend(campaign) == ([], ())
    assert found(campaign) == [finding]
    file.write_bytes(kept)
    is_mended(campaign)
