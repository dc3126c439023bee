"""Torn, missing or flipped files of silver, met by maintenance, by validate and by a run.

Maintenance does the other tables and changes no row; nothing is published that was not judged.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.cuts.handover import StagedCut
from lakehouse.plan.records import MAINTAIN, STEPS
from lakehouse.plan.upkeep.compacting import Maintained
from lakehouse.spark.metadata import head
from lakehouse.steps.runner import execute
from tests.support.campaign import Campaign
from tests.support.damage import (
    cut_off,
    damaged,
    deletion_vector,
    empty,
    flip,
    is_mended,
    list_of_files,
    local,
    mend,
    oldest_rows,
)
from tests.support.dying_run import through

NAMED = "file {} is not there, or not as it was written"


@pytest.fixture(scope="module")
def campaign(
    spark: SparkSession, settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Campaign:
    return damaged(spark, settings, tmp_path_factory.mktemp("upkeep"), "upkeep")


def maintained(campaign: Campaign) -> dict[str, Maintained]:
    """What maintenance did to each table of silver, by its name inside the namespace."""
    outcome = execute(MAINTAIN, campaign.runs.context(run_id="upkeep"))
    assert (outcome.status, outcome.exit_code) == ("failed", 1)
    tables = outcome.detail["tables"]
    assert isinstance(tables, list)
    done = [Maintained.from_detail(each) for each in tables if isinstance(each, dict)]
    assert [each.table for each in done if each.error] == [giro(campaign)]
    return {each.table.rpartition("__")[2]: each for each in done}


def giro(campaign: Campaign) -> str:
    return f"silver_{campaign.runs.source.name}.public__giro"


@pytest.mark.further
@pytest.mark.parametrize(
    ("damage", "find", "said"),
    [
        (cut_off, oldest_rows, NAMED),
        (Path.unlink, oldest_rows, NAMED),
        (flip, oldest_rows, "a file is not as it was written"),
        (Path.unlink, deletion_vector, NAMED),
        (cut_off, list_of_files, NAMED),
    ],
)
def test_a_maintenance_that_meets_a_broken_file_names_it_and_does_the_other_tables(
    campaign: Campaign,
    damage: Callable[[Path], None],
    find: Callable[[Campaign, str], Path],
    said: str,
) -> None:
    catalog, file = campaign.runs.ledger.catalog, find(campaign, giro(campaign))
    before, whole = head(catalog, giro(campaign)), file.read_bytes()
    damage(file)

    done = maintained(campaign)

    file.write_bytes(whole)
    error = done["giro"].error
    assert said.format(f"file:{file}") in error
    assert "`lakehouse doctor --source upkeep` names those that are gone" in error
    assert done["cash"].after is not None
    assert head(catalog, giro(campaign)) == before
    campaign.look()
    campaign.is_current()


def staged_rows(campaign: Campaign, run_id: str) -> Path:
    """The newest file that a run staged for a table."""
    ledger = campaign.runs.ledger
    applied = ledger.newest_run(campaign.runs.source.name, "apply", run_id)
    staged = StagedCut.from_detail(applied.detail) if applied else None
    assert staged is not None
    [snapshot] = [each.snapshot for each in staged.tables if each.silver == giro(campaign)]
    tasks = ledger.catalog.load_table(giro(campaign)).scan(snapshot_id=snapshot).plan_files()
    return max((local(t.file.file_path) for t in tasks), key=lambda file: file.stat().st_mtime_ns)


@pytest.mark.further
@pytest.mark.parametrize("damage", [cut_off, Path.unlink])
def test_a_staged_file_that_breaks_before_validate_is_named_and_nothing_is_published(
    campaign: Campaign, damage: Callable[[Path], None]
) -> None:
    run_id, ledger = f"staged_{damage.__name__}", campaign.runs.ledger
    campaign.bank.transfer(2)
    context, cut = campaign.context(run_id), ledger.newest_cut("upkeep")
    through(("land", "check", "apply"), context)
    file = staged_rows(campaign, run_id)
    damage(file)

    outcome = execute("validate", context)

    assert (outcome.status, outcome.exit_code) == ("failed", 1)
    assert file.name in outcome.message
    assert "`lakehouse doctor --source upkeep` names those that are gone" in outcome.message
    assert "what was only staged the next run stages again" in outcome.message
    refused = execute("publish", context)
    assert (refused.status, refused.exit_code) == ("failed", 1)
    assert "is not validated" in refused.message
    assert ledger.newest_cut("upkeep") == cut
    # The tables are whole: the next run stages anew.
    assert mend(campaign) == ([], ())
    is_mended(campaign)


@pytest.mark.further
@pytest.mark.parametrize("damage", [cut_off, empty])
def test_a_run_that_meets_torn_metadata_names_them_and_doctor_mends_the_table(
    campaign: Campaign, damage: Callable[[Path], None]
) -> None:
    ledger = campaign.runs.ledger
    campaign.bank.transfer(2)
    context, cut = campaign.context(f"torn_{damage.__name__}"), ledger.newest_cut("upkeep")
    location = ledger.catalog.load_table(giro(campaign)).metadata_location
    damage(local(location))

    through(STEPS, context)

    failed = ledger.runs("upkeep")[-1]
    assert (failed.step, failed.status) == ("apply", "failed")
    assert f"file {location} is not there, or not as it was written" in failed.message
    assert "`lakehouse doctor --source upkeep` names those that are gone" in failed.message
    assert ledger.newest_cut("upkeep") == cut
    # Where the lost commit moved `main`, a rebuild makes the newest cut again.
    done, _ = mend(campaign)
    assert [line.partition(":")[0] for line in done] == [giro(campaign)]
    is_mended(campaign)
