"""Many races of two runs: `RACES` says how many (200), `RACES_SEED` which (11); prints figures."""

from __future__ import annotations

import os
import platform
import time
from datetime import UTC, datetime
from random import Random

import pytest

from tests.support.campaign import begin
from tests.support.races import PAIRS, ZOMBIE, Races
from tests.support.racing import racers

RACES = int(os.environ.get("RACES", "200"))
SEED = int(os.environ.get("RACES_SEED", "11"))
# After so many races a clean run is looked at row by row.
_CHECK_EVERY = 10


@pytest.mark.timeout(0)
def test_of_two_runs_at_once_exactly_one_writes_each_time(spark, settings, tmp_path):
    campaign, random, started = (
        begin(spark, settings, tmp_path, "many_races"),
        Random(SEED),
        time.monotonic(),
    )
    with racers(campaign.runs, 2) as others:
        races = Races(campaign, others, random)
        for number in range(1, RACES + 1):
            races.race(random.choice([*PAIRS, ZOMBIE]))
            if number % _CHECK_EVERY == 0:
                campaign.finish(readable=False)
    campaign.finish()
    assert races.writers == {1: RACES}
    print(
        f"\n{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.node()}, {os.cpu_count()} cores, "
        f"seed {SEED}: {RACES} races in {time.monotonic() - started:.0f} s, one writer each, "
        f"{races.overlapped} of them with both at work at one moment; "
        + ", ".join(f"{' against '.join(pair)}: {n}" for pair, n in sorted(races.kinds.items()))
    )
