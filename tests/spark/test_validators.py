"""A validation that is killed, and one that stands while its run is cleared and done again.

What was not judged to its end counts as nothing, and of two validations of a run one counts.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.records import STEPS
from lakehouse.quality.judgement import Verdict
from lakehouse.quality.reports.summary import read_recent, report_of, summarise_validation
from tests.support.campaign import Campaign, begin
from tests.support.dying_run import do
from tests.support.standing import let_the_lease_end, standing

# Before the results are committed, behind that, and before the row of the step is.
KILLED = [("validate.after_files", 1), ("validate.after_commit", 1), ("validate.after_files", 2)]


@pytest.fixture(scope="module")
def campaign(
    spark: SparkSession, settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Campaign:
    return begin(spark, settings, tmp_path_factory.mktemp("judges"), "judges")


def steps_of(campaign: Campaign, run_id: str) -> list[tuple[str, str]]:
    rows = campaign.runs.ledger.runs(campaign.runs.source.name)
    return [(row.step, row.status) for row in rows if row.run_id == run_id]


@pytest.mark.further
@pytest.mark.parametrize(("where", "nth"), KILLED)
def test_a_validation_that_is_killed_passes_nothing_and_publishes_nothing(
    campaign: Campaign, where: str, nth: int
) -> None:
    ledger = campaign.runs.ledger
    cut, told = ledger.newest_cut("judges"), summarise_validation(ledger, "judges", None)

    assert campaign.kill(where, nth)

    run_id = ledger.runs("judges")[-1].run_id
    assert run_id.startswith("killed_")
    assert steps_of(campaign, run_id) == [(step, "succeeded") for step in STEPS[:3]]
    assert ledger.newest_cut("judges") == cut
    assert summarise_validation(ledger, "judges", None) == told
    killed = report_of(ledger, "judges", run_id, read_recent(ledger, "judges"))
    assert (killed.verdict, killed.tables) == (Verdict.NO_DATA, ())
    campaign.finish()


@pytest.mark.further
def test_of_two_validations_of_a_run_that_was_cleared_the_later_one_counts(
    campaign: Campaign,
) -> None:
    campaign.bank.transfer(2)
    done = [(step, "succeeded") for step in STEPS]
    with standing(campaign, "cleared", "validate.before_write", 1) as run:
        let_the_lease_end(campaign, "cleared")
        campaign.bank.transfer(1)
        do("run", campaign.context("cleared"))
        cut = campaign.runs.ledger.newest_cut("judges")
        run.go_on()
    # The one that stood still has judged what another cut has taken the place of.
    ended = [("validate", "succeeded"), ("publish", "failed")]
    assert steps_of(campaign, "cleared") == [*done[:3], *done, *ended]
    refused = campaign.runs.ledger.newest_run("judges", "publish", "cleared")
    assert refused is not None
    assert "is not validated: expected a succeeded validate after apply" in refused.message
    assert campaign.runs.ledger.newest_cut("judges") == cut
    campaign.is_current()
    campaign.bank.transfer(1)
    campaign.finish()
