"""Silver with torn, missing or flipped files, met by an ordinary run.

The run fails with the file and what to do, nothing is lost, and what it is told to do helps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.records import STEPS
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.steps.context import StepOutcome
from lakehouse.steps.runner import execute
from tests.support.campaign import Campaign
from tests.support.damage import (
    cut_off,
    damaged,
    deletion_vector,
    flip,
    found,
    is_mended,
    list_of_files,
    mend,
    newest_rows,
    oldest_rows,
)

Find = Callable[[Campaign, str], Path]


def ran(campaign: Campaign) -> dict[str, StepOutcome]:
    """An ordinary run that changes every row, up to the step that fails."""
    campaign.bank.transfer(4)
    context, outcomes = campaign.context("ordinary"), dict[str, StepOutcome]()
    for step in STEPS:
        outcomes[step] = execute(step, context)
        if outcomes[step].status != "succeeded":
            break
    return outcomes


def assert_failed(campaign: Campaign, outcome: StepOutcome, named: str) -> None:
    """The step ended in words that name the file and what to do; its row has them too."""
    name = campaign.runs.source.name
    assert (outcome.status, outcome.exit_code) == ("failed", 1)
    assert named in outcome.message
    assert f"`lakehouse doctor --source {name}` names those that are gone" in outcome.message
    row = campaign.runs.ledger.newest_run(name, "apply")
    assert row is not None
    assert (row.status, row.message) == ("failed", outcome.message)


@pytest.mark.parametrize(
    ("damage", "find"),
    [
        (cut_off, oldest_rows),
        pytest.param(Path.unlink, newest_rows, marks=pytest.mark.further),
        pytest.param(Path.unlink, deletion_vector, marks=pytest.mark.further),
        pytest.param(cut_off, deletion_vector, marks=pytest.mark.further),
        pytest.param(Path.unlink, list_of_files, marks=pytest.mark.further),
        pytest.param(cut_off, list_of_files, marks=pytest.mark.further),
    ],
)
def test_an_apply_that_meets_a_broken_file_names_it_and_doctor_mends_the_table(
    spark: SparkSession,
    settings: Settings,
    tmp_path: Path,
    damage: Callable[[Path], None],
    find: Find,
) -> None:
    name = f"met_{damage.__name__}_{find.__name__}"
    campaign = damaged(spark, settings, tmp_path, name)
    cut = campaign.runs.ledger.newest_cut(name)
    file = find(campaign, f"silver_{name}.public__giro")
    damage(file)

    outcomes = ran(campaign)

    assert list(outcomes) == ["land", "check", "apply"]
    assert_failed(campaign, outcomes["apply"], file.name)
    assert campaign.runs.ledger.newest_cut(name) == cut
    assert [each.subject for each in found(campaign)] == [f"table silver_{name}.public__giro"]
    assert mend(campaign) == ([], ("public.giro",))
    is_mended(campaign)


@pytest.mark.further
@pytest.mark.parametrize(
    ("find", "said"),
    [
        (newest_rows, "a file is not as it was written"),
        (deletion_vector, "{file} is not there, or"),
    ],
)
def test_an_apply_that_meets_flipped_bytes_says_so_and_a_rebuild_mends_the_table(
    spark: SparkSession, settings: Settings, tmp_path: Path, find: Find, said: str
) -> None:
    name = f"met_flipped_{find.__name__}"
    campaign = damaged(spark, settings, tmp_path, name)
    file = find(campaign, f"silver_{name}.public__giro")
    flip(file)

    outcomes = ran(campaign)

    assert list(outcomes) == ["land", "check", "apply"]
    assert_failed(campaign, outcomes["apply"], said.format(file=file.name))
    assert f"`lakehouse rebuild --source {name}`" in outcomes["apply"].message
    context = replace(campaign.runs.context(), rebuild=Rebuild())
    rebuilt = [execute(step, context).status for step in ("apply", "validate", "publish")]
    assert rebuilt == ["succeeded"] * 3
    is_mended(campaign)


@pytest.mark.further
@pytest.mark.parametrize("damage", [cut_off, Path.unlink])
def test_a_full_validation_that_meets_a_broken_file_names_it_and_has_not_passed(
    spark: SparkSession, settings: Settings, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    name = f"judged_{damage.__name__}"
    campaign = damaged(spark, settings, tmp_path, name)
    file = oldest_rows(campaign, f"silver_{name}.public__giro")
    damage(file)

    outcome = execute("validate", replace(campaign.runs.context(), full=True))

    assert (outcome.status, outcome.exit_code) == ("failed", 1)
    assert file.name in outcome.message
    assert f"`lakehouse doctor --source {name}` names those that are gone" in outcome.message
    assert mend(campaign) == ([], ("public.giro",))
    is_mended(campaign)
