"""Leftovers are removed while a write stands still, whose files no table knows yet: those stay."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.metadata import load_metadata
from lakehouse.spark.rewriting.upkeep import ORPHAN_AGE, remove_orphans
from tests.support.campaign import Campaign, begin, tables_of
from tests.support.damage import local
from tests.support.dying_run import do
from tests.support.standing import standing

PLACES = [
    ("apply.before_commit", 1),
    pytest.param("land.after_files", 1, marks=pytest.mark.further),
    pytest.param("publish.after_files", 1, marks=pytest.mark.further),
]


def data_of(campaign: Campaign, table: str) -> Path:
    metadata = load_metadata(campaign.runs.ledger.catalog, table)
    assert metadata is not None
    return local(metadata.location) / "data"


def files(campaign: Campaign) -> set[Path]:
    """Every data file of every table, whether a table knows it or not."""
    tables = tables_of(campaign.runs.ledger.catalog, campaign.runs.source.name)
    folders = [data_of(campaign, table) for table in tables]
    return {path for each in folders for path in each.rglob("*") if path.suffix != ".crc"}


def known(campaign: Campaign) -> set[Path]:
    """The data files that a snapshot of a table knows."""
    catalog = campaign.runs.ledger.catalog
    found: set[Path] = set()
    for table in tables_of(catalog, campaign.runs.source.name):
        paths = catalog.load_table(table).inspect.all_files()["file_path"].to_pylist()
        found |= {local(path) for path in paths}
    return found


def unaware(campaign: Campaign, paths: set[Path]) -> list[str]:
    """The tables in whose folders such files lie."""
    tables = tables_of(campaign.runs.ledger.catalog, campaign.runs.source.name)
    folders = {table: data_of(campaign, table) for table in tables}
    return [t for t in tables if any(path.is_relative_to(folders[t]) for path in paths)]


def leave(folder: Path) -> Path:
    """A file that a killed writer left long ago."""
    folder.mkdir(exist_ok=True)
    left, then = folder / "left.parquet", time.time() - (ORPHAN_AGE * 2).total_seconds()
    left.write_bytes(b"rows")
    os.utime(left, (then, then))
    return left


@pytest.mark.parametrize(("where", "nth"), PLACES)
def test_files_of_a_run_that_stands_before_its_commit_are_kept_and_it_goes_on(
    spark: SparkSession, settings: Settings, tmp_path: Path, where: str, nth: int
) -> None:
    campaign = begin(spark, settings, tmp_path, f"flying_{where.replace('.', '_')}")
    before = files(campaign)
    campaign.bank.transfer(2)
    with standing(campaign, "slow", where, nth) as run:
        flying = files(campaign) - before
        tables = unaware(campaign, flying - known(campaign))
        assert tables
        left = [leave(data_of(campaign, table)) for table in tables]
        assert {remove_orphans(spark, table) for table in tables} == {1}
        assert not any(path.exists() for path in left)
        assert all(path.exists() for path in flying)
        run.go_on()
    published = campaign.runs.ledger.newest_run(campaign.runs.source.name, "publish", "slow")
    assert published is not None
    assert published.status == "succeeded"
    campaign.is_current()
    campaign.finish()


@pytest.mark.further
def test_maintenance_during_a_landing_keeps_the_files_that_are_about_to_land(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = begin(spark, settings, tmp_path, "flying_by")
    campaign.bank.transfer(2)
    with standing(campaign, "slow", "land.before_commit", 2) as run:
        left = leave(data_of(campaign, "bronze.flying_by"))
        do("maintain", campaign.runs.context(), timedelta(0))
        maintained = campaign.runs.ledger.newest_run("flying_by", "maintain")
        assert maintained is not None
        assert maintained.status == "succeeded", maintained.message
        assert not left.exists()
        run.go_on()
    campaign.is_current()
    campaign.finish()
