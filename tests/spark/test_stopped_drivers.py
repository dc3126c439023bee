"""A driver that is stopped until its lease is over, while another run publishes, and then goes on.

Unlike a killed one it still wants to write: the token refuses it, and nothing goes back. A landing
has no lease: it finds that others have landed.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.lease import TTL_S
from lakehouse.plan.records import STEPS, Step
from lakehouse.spark.metadata import refs
from tests.support.campaign import Campaign, begin, unready
from tests.support.standing import let_the_lease_end, standing

# With some of the tables staged: the places at which it would write next.
SAMPLED = ("apply.before_write", 2)
# Of publish: at the tags of its tables, and at their `main`.
FURTHER = (
    ("apply.after_lease", 1),
    ("apply.between_tables", 2),
    ("apply.after_commit", 3),
    ("publish.before_commit", 1),
    ("publish.before_commit", 4),
)


def is_refused(campaign: Campaign, run_id: str, step: Step) -> None:
    """The stopped run's step ended as superseded, and no later one of it ran."""
    rows = campaign.runs.ledger.runs(campaign.runs.source.name)
    mine = [row for row in rows if row.run_id == run_id]
    before = [(each, "succeeded") for each in STEPS[: STEPS.index(step)]]
    assert [(row.step, row.status) for row in mine] == [*before, (step, "superseded")]
    assert "is not the newest" in mine[-1].message
    assert "another run took over" in mine[-1].message


@pytest.mark.parametrize(
    ("where", "nth"),
    [SAMPLED, *(pytest.param(*each, marks=pytest.mark.further) for each in FURTHER)],
)
def test_a_driver_that_was_stopped_past_its_lease_is_refused_by_its_token(
    spark: SparkSession, settings: Settings, tmp_path: Path, where: str, nth: int
) -> None:
    step, _, point = where.partition(".")
    campaign = begin(spark, settings, tmp_path, f"stopped_{step}_{point}_{nth}")
    campaign.bank.transfer(2)
    with standing(campaign, "asleep", where, nth) as run:
        run.stop()
        let_the_lease_end(campaign, "asleep")
        campaign.bank.transfer(1)
        campaign.finish()
        run.go_on()
    is_refused(campaign, "asleep", "publish" if step == "publish" else "apply")
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
    is_refused(campaign, "asleep", "apply")
    campaign.is_current()
    campaign.bank.transfer(1)
    campaign.finish()


@pytest.mark.further
def test_a_landing_that_was_stopped_while_another_run_landed_lands_nothing_twice(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = begin(spark, settings, tmp_path, "stopped_landing")
    campaign.bank.transfer(2)
    # Its messages lie on a branch, and are about to be in `main`.
    with standing(campaign, "asleep", "land.before_commit", 2) as run:
        run.stop()
        campaign.bank.transfer(1)
        campaign.finish()
        run.go_on()
    landed = campaign.runs.ledger.newest_run("stopped_landing", "land", "asleep")
    assert landed is not None
    assert (landed.status, json.loads(landed.counts)["messages"]) == ("succeeded", 0)
    assert list(refs(campaign.runs.ledger.catalog, "bronze.stopped_landing")) == ["main"]
    campaign.is_current()
    campaign.bank.transfer(1)
    campaign.finish()
