"""Every named point of every step killed many times, in runs that follow one another.

`FAILPOINT_KILLS` says how often each is killed (20), `FAILPOINT_SEED` which order and which passing
of a point (7); `FAILPOINT_STEPS` names the steps (all). Figures are printed.
"""

from __future__ import annotations

import os
import platform
import time
from datetime import UTC, datetime
from random import Random

import pytest

from tests.support.campaign import PASSED, begin

KILLS = int(os.environ.get("FAILPOINT_KILLS", "20"))
SEED = int(os.environ.get("FAILPOINT_SEED", "7"))
STEPS = os.environ.get("FAILPOINT_STEPS", "land check apply validate publish maintain catalog")
# A run that makes all its writes through Java makes so many.
PLACES = {**PASSED, "catalog.before": 13, "catalog.after": 13}
# A process that does this step alone has fewer results to write.
ALONE = {f"validate.{point}": 1 for point in ("before_write", "after_files", "after_commit")}
# After so many kills a clean run is looked at row by row.
_CHECK_EVERY = 10
# How many of the killed processes do one step; the others do a whole run.
_ALONE = 0.75


@pytest.mark.timeout(0)
@pytest.mark.parametrize("step", STEPS.split())
def test_each_point_of_a_step_is_killed_many_times(spark, settings, tmp_path, step: str):
    random, started = Random(f"{SEED} {step}"), time.monotonic()
    places = [where for where in PLACES if where.startswith(f"{step}.")] * KILLS
    random.shuffle(places)
    campaign, recoveries = begin(spark, settings, tmp_path, f"killed_in_{step}"), []
    for number, where in enumerate(places, 1):
        alone = random.random() < _ALONE
        nth = random.randint(1, ALONE.get(where, PLACES[where]) if alone else PLACES[where])
        assert campaign.kill(where, nth, alone=alone), where
        if number % _CHECK_EVERY == 0 or number == len(places):
            begun = time.monotonic()
            campaign.finish()
            recoveries.append(time.monotonic() - begun)
    assert set(campaign.kills.values()) == {KILLS}
    print(
        f"\n{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.node()}, {os.cpu_count()} cores, "
        f"seed {SEED}: {step}, {len(places)} kills at {len(campaign.kills)} points, each {KILLS} "
        f"times, {time.monotonic() - started:.0f} s; {campaign.reader.looks} reads, 0 halves; "
        f"{len(recoveries)} recoveries, median {sorted(recoveries)[len(recoveries) // 2]:.1f} s, "
        f"longest {max(recoveries):.1f} s: 0 lost, 0 doubled, 0 reverted, 0 unreadable"
    )
