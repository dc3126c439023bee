"""Tables that somebody else broke: `lakehouse doctor` names the file, `--repair` mends them.

Files are removed, cut off and flipped for real, in data, lists of files and metadata.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.inspection.tables import read_all
from lakehouse.plan.doctor.tables import Role
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.spark.control.lease_table import LEASES
from lakehouse.steps.runner import execute
from tests.support.campaign import Campaign
from tests.support.damage import cut_off, damaged, data_file, flip, found, is_mended, local, mend


@pytest.mark.further
@pytest.mark.parametrize("damage", [cut_off, Path.unlink])
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
