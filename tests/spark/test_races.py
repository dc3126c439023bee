"""Two runs of one source at once, in processes of their own: exactly one of them writes.

One race of each kind here; `make soak` has two hundred (`tests/soak/test_races.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from lakehouse.config import Settings
from tests.support.campaign import begin
from tests.support.races import PAIRS, ZOMBIE, Races
from tests.support.racing import racers

SEED, KINDS = 7, (*PAIRS, ZOMBIE)


def test_of_two_runs_at_once_exactly_one_writes(
    spark: SparkSession, settings: Settings, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    campaign = begin(spark, settings, tmp_path, "races")
    with racers(campaign.runs, 2) as others:
        races = Races(campaign, others, Random(SEED))
        for kind in KINDS:
            races.race(kind)
    campaign.finish()
    assert races.writers == {1: len(KINDS)}
    figure(
        f"{len(KINDS)} races of two runs, seed {SEED}: one writer each, {races.overlapped} with "
        "both at work at one moment"
    )
