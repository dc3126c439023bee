"""What a run writes through PyIceberg: leases, results, cuts, and a row of each step.

The answers are lost, or the catalog is away at one of these writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession
from sqlalchemy.exc import DBAPIError

from lakehouse.config import Settings
from lakehouse.plan.records import RESULTS, STEPS, ResultRow
from lakehouse.spark.control import ledger
from tests.support.campaign import Campaign, begin
from tests.support.dying_run import do
from tests.support.lost_answers import losing_commits

# What a run writes, in order: rows of land and check, three leases and the row of apply, results
# and the row of validate, a lease, the cut twice (its second row publishes it), two leases and the
# row of publish.
WRITES = 14
RESULTS_OF_VALIDATE, ROW_OF_VALIDATE, PUBLISHED, ROW_OF_PUBLISH = 7, 8, 11, 14


@pytest.fixture(scope="module")
def campaign(
    spark: SparkSession, settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Campaign]:
    with pytest.MonkeyPatch.context() as patched:
        # To forget old snapshots is a write too, made when some are a minute old.
        patched.setattr(ledger, "_MOST_OLD_SNAPSHOTS", 1_000_000)
        yield begin(spark, settings, tmp_path_factory.mktemp("control"), "control")


def run(campaign: Campaign, run_id: str, *lost: int, before: bool) -> int:
    """A run that loses writes, or the answers to them; gives how many it asked for."""
    campaign.bank.transfer(2)
    context = campaign.context(run_id)
    catalog = context.ledger.catalog
    assert isinstance(catalog, SqlCatalog)
    with losing_commits(catalog, *lost, before=before) as commits:
        do("run", context)
    return commits.made


def steps_of(campaign: Campaign, run_id: str) -> list[tuple[str, str]]:
    rows = campaign.runs.ledger.runs(campaign.runs.source.name)
    return [(row.step, row.status) for row in rows if row.run_id == run_id]


def is_written_once(campaign: Campaign) -> None:
    """No cut is published twice, and no finding of a run is told twice."""
    rows_of, name = campaign.runs.ledger, campaign.runs.source.name
    published = Counter(row.cut_id for row in rows_of.cuts(name) if row.state == "published")
    assert set(published.values()) == {1}
    rows = [row for row in rows_of.rows(RESULTS, source=name) if isinstance(row, ResultRow)]
    told = Counter((r.run_id, r.run_started, r.suite, r.table, r.expectation) for r in rows)
    assert set(told.values()) == {1}


@pytest.mark.further
def test_a_run_that_loses_the_answer_to_each_of_them_writes_each_once(campaign: Campaign) -> None:
    assert run(campaign, "lost", *range(1, WRITES + 1), before=False) == WRITES

    assert steps_of(campaign, "lost") == [(step, "succeeded") for step in STEPS]
    campaign.is_current()
    is_written_once(campaign)
    campaign.finish()


@pytest.mark.further
@pytest.mark.parametrize(
    ("nth", "ended"),
    [
        (RESULTS_OF_VALIDATE, ("validate", "failed")),
        (ROW_OF_VALIDATE, ("apply", "succeeded")),
        (PUBLISHED, ("publish", "failed")),
        (ROW_OF_PUBLISH, ("validate", "succeeded")),
    ],
)
def test_a_run_during_which_the_catalog_is_away_at_one_of_them_is_done_by_the_next(
    campaign: Campaign, nth: int, ended: tuple[str, str]
) -> None:
    with pytest.raises(DBAPIError):
        run(campaign, f"away_{nth}", nth, before=True)

    assert steps_of(campaign, f"away_{nth}")[-1] == ended
    campaign.look()
    campaign.finish()
    is_written_once(campaign)
