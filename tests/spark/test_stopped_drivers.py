"""A driver that is stopped until its lease is over, while another run publishes, and then goes on.

Unlike a killed one it still wants to write: the token refuses it, and nothing goes back.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.lease import TTL_S
from tests.support.campaign import Campaign, begin, unready
from tests.support.standing import let_the_lease_end, standing

# With some of the tables staged: the places at which it would write next.
SAMPLED = ("apply.before_write", 2)
FURTHER = (("apply.after_lease", 1), ("apply.between_tables", 2), ("apply.after_commit", 3))


def is_refused(campaign: Campaign, run_id: str) -> None:
    """The stopped run's apply ended as superseded, and no later step of it ran."""
    rows = campaign.runs.ledger.runs(campaign.runs.source.name)
    ended = [(row.step, row.status) for row in rows if row.run_id == run_id]
    assert ended == [("land", "succeeded"), ("check", "succeeded"), ("apply", "superseded")]
    [message] = [row.message for row in rows if row.run_id == run_id and row.step == "apply"]
    assert "is not the newest" in message
    assert "another run took over" in message


@pytest.mark.parametrize(
    ("where", "nth"),
    [SAMPLED, *(pytest.param(*each, marks=pytest.mark.further) for each in FURTHER)],
)
def test_a_driver_that_was_stopped_past_its_lease_is_refused_by_its_token(
    spark: SparkSession, settings: Settings, tmp_path: Path, where: str, nth: int
) -> None:
    campaign = begin(spark, settings, tmp_path, f"stopped_{where.partition('.')[2]}")
    campaign.bank.transfer(2)
    with standing(campaign, "asleep", where, nth) as run:
        run.stop()
        let_the_lease_end(campaign, "asleep")
        campaign.bank.transfer(1)
        campaign.finish()
        run.go_on()
    is_refused(campaign, "asleep")
    campaign.look()
    campaign.is_current()


@pytest.mark.further
def test_another_run_waits_until_the_lease_of_a_stopped_driver_is_over(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = begin(spark, settings, tmp_path, "stopped_for_long")
    campaign.bank.transfer(2)
    with standing(campaign, "asleep", *SAMPLED) as run:
        run.stop()
        begun = time.monotonic()
        campaign.bank.transfer(1)
        assert unready(campaign.runs.run(campaign.bank.source)) == {}
        # It had the lease for as long as it last said so, a heartbeat before it was stopped.
        assert time.monotonic() - begun > TTL_S / 2
        run.go_on()
    is_refused(campaign, "asleep")
    campaign.is_current()
    campaign.bank.transfer(1)
    campaign.finish()
