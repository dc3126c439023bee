"""Runs that die, fail or stand still at each named point of each step, and what the next one makes.

Whatever happens, a reader sees whole transactions and none of before, and one clean run later
silver is the source. `make test` tries a few; `make soak` each point and each step, and every pair
many times (`tests/soak/test_failpoints.py`).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.failpoints import POINTS
from tests.support.campaign import PASSED, Campaign, armed, begin
from tests.support.dying_run import LATER, do
from tests.support.sampling import EVERY_CASE

# Each point once, each step at least once; the catalog's own writes through Java beside them.
# `tests/spark/test_readers.py` kills publish behind its commits.
KILLED = [
    ("land.before_commit", 3),
    ("check.after_files", 1),
    ("apply.after_lease", 1),
    ("apply.before_write", 4),
    ("validate.after_mirror", 1),
    ("publish.between_tables", 7),
    ("maintain.after_commit", 9),
    ("catalog.before", 6),
    ("catalog.after", 12),
    # Maintenance: before a table's compaction is committed, and behind that.
    ("catalog_maintain.before", 3),
    ("catalog_maintain.after", 7),
]
SAMPLED = [("land.before_commit", 3), ("apply.before_write", 4), ("catalog.after", 12)]
FAILING = ["apply.between_tables"]
OVERTAKEN = [("publish.before_write", 1)]


@pytest.fixture(scope="module")
def campaign(
    spark: SparkSession, settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Campaign:
    return begin(spark, settings, tmp_path_factory.mktemp("killed"), "killed")


@pytest.mark.further
def test_every_named_point_is_passed_by_one_run_and_its_maintenance(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign, notes = begin(spark, settings, tmp_path, "noted"), tmp_path / "notes"
    campaign.bank.transfer(2)
    archive = campaign.bank.source.archive(tmp_path / "archive")
    with armed(f"*.*:note={notes}"):
        for work in ("run", "maintain"):
            do(work, campaign.runs.context(archive), LATER)
    passed = Counter(notes.read_text(encoding="utf-8").split())
    assert {name: min(passed[name], most) for name, most in PASSED.items()} == PASSED
    assert passed.keys() == PASSED.keys()
    assert {name.partition(".")[2] for name in PASSED} == set(POINTS)


def test_runs_that_are_killed_lose_double_and_revert_nothing(campaign: Campaign) -> None:
    for where, nth in KILLED if EVERY_CASE else SAMPLED:
        assert campaign.kill(where, nth), f"nothing died at {where}"
    campaign.finish()


@pytest.mark.parametrize("where", list(PASSED) if EVERY_CASE else FAILING)
def test_a_run_that_fails_is_done_by_the_next(campaign: Campaign, where: str) -> None:
    for nth in {1, PASSED[where]} if EVERY_CASE else {1}:
        campaign.fail(where, nth)
    campaign.finish(readable=False)


@pytest.mark.parametrize(("where", "nth"), PASSED.items() if EVERY_CASE else OVERTAKEN)
def test_a_run_that_stands_still_reverts_nothing_when_it_goes_on(
    campaign: Campaign, where: str, nth: int
) -> None:
    outcomes = campaign.overtake(where, nth)
    assert [each.message for each in outcomes if each.status != "succeeded"] == []
    campaign.finish()
