"""A catalog that is locked, slow or away: a run waits, or fails and the next one does its work."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.commits import FAILURES
from tests.support.campaign import Campaign, begin, unready
from tests.support.dying_run import do
from tests.support.lost_answers import STATES, LostAnswers
from tests.support.sampling import EVERY_CASE

# Longer than a run's shortest step, shorter than either client waits.
HELD_S, FREE_S = 1.0, 0.2
# Writes of a run through Java at which the catalog cannot be reached.
AWAY = range(1, 14) if EVERY_CASE else (9,)


@contextmanager
def locked(settings: Settings) -> Iterator[None]:
    """Another process's transactions hold the catalog's file nearly all the time."""
    done, file = threading.Event(), settings.catalog_uri.removeprefix("sqlite:///")

    def hold() -> None:
        with sqlite3.connect(file, timeout=60, isolation_level=None) as connection:
            while not done.is_set():
                connection.execute("BEGIN EXCLUSIVE")
                done.wait(HELD_S)
                connection.execute("ROLLBACK")
                done.wait(FREE_S)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def begun(spark: SparkSession, settings: Settings, folder: Path, name: str) -> Campaign:
    """Its session opens the catalog anew, through a driver that can lose the connection."""
    LostAnswers(spark)
    return begin(spark.newSession(), settings, folder, name)


def test_a_run_waits_for_a_locked_catalog(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = begun(spark, settings, tmp_path, "locked")
    campaign.bank.transfer(2)
    with locked(settings):
        outcomes = campaign.runs.run(campaign.bank.source)
    assert unready(outcomes) == {}
    campaign.finish()


@pytest.mark.further
@pytest.mark.parametrize("nth", AWAY)
def test_a_run_during_which_the_catalog_is_away_is_done_by_the_next(
    spark: SparkSession, settings: Settings, tmp_path: Path, nth: int
) -> None:
    campaign = begun(spark, settings, tmp_path, f"away_{nth}")
    answers = LostAnswers(campaign.runs.spark)
    campaign.bank.transfer(2)
    context = campaign.context("away")
    with answers.losing(nth, STATES[nth % len(STATES)], before=True), suppress(*FAILURES):
        do("run", context)
    assert not answers.left
    campaign.look()
    campaign.finish()
