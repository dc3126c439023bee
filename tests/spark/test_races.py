"""Two runs of one source at once, in processes of their own: exactly one of them writes.

Each kind of work races here once at least; every pair does in `make soak`, where
`tests/soak/test_races.py` has two hundred races.
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
from tests.support.sampling import EVERY_CASE, share

SEED = 7
SAMPLED = (("run", "clear"), ("backfill", "upkeep"))
KINDS = (*(PAIRS if EVERY_CASE else SAMPLED), ZOMBIE)


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
        f"kinds of races of two runs, {share(KINDS, (*PAIRS, ZOMBIE))}: seed {SEED}, one writer "
        f"each, {races.overlapped} with both at work at one moment"
    )
