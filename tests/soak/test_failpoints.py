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
STEPS = os.environ.get(
    "FAILPOINT_STEPS", "land check apply validate publish maintain catalog catalog_maintain"
)
# A run that makes all its writes through Java makes so many, and so does its maintenance.
PLACES = {
    **PASSED,
    "catalog.before": 13,
    "catalog.after": 13,
    "catalog_maintain.before": 18,
    "catalog_maintain.after": 18,
}
# After so many kills a clean run is looked at row by row; after so many, every snapshot of every
# table is read, of which each kill leaves some ten.
_CHECK_EVERY, _READ_EVERY = 10, 60
# How many of the killed processes do one step; the others do a whole run. Who dies alone while it
# validates, or as it writes the row of apply, has no lease: that one waits ten minutes for whoever
# goes on with the run, and other runs are superseded until then.
_ALONE, _IN_RUNS = 0.75, ("validate.", "apply.after_files", "apply.after_mirror")


@pytest.mark.timeout(0)
@pytest.mark.parametrize("step", STEPS.split())
def test_each_point_of_a_step_is_killed_many_times(spark, settings, tmp_path, step: str):
    random, started = Random(f"{SEED} {step}"), time.monotonic()
    places = [where for where in PLACES if where.startswith(f"{step}.")] * KILLS
    random.shuffle(places)
    campaign, recoveries = begin(spark, settings, tmp_path, f"killed_in_{step}"), []
    for number, where in enumerate(places, 1):
        nth = random.randint(1, PLACES[where])
        alone = not where.startswith(_IN_RUNS) and random.random() < _ALONE
        assert campaign.kill(where, nth, alone=alone), f"{where}: {campaign.said}"
        if number % _CHECK_EVERY == 0 or number == len(places):
            begun = time.monotonic()
            campaign.finish(readable=number % _READ_EVERY == 0 or number == len(places))
            recoveries.append(time.monotonic() - begun)
    assert set(campaign.kills.values()) == {KILLS}
    print(
        f"\n{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.node()}, {os.cpu_count()} cores, "
        f"seed {SEED}: {step}, {len(places)} kills at {len(campaign.kills)} points, each {KILLS} "
        f"times, {time.monotonic() - started:.0f} s; {campaign.reader.looks} reads, 0 halves; "
        f"{len(recoveries)} recoveries, median {sorted(recoveries)[len(recoveries) // 2]:.1f} s, "
        f"longest {max(recoveries):.1f} s: 0 lost, 0 doubled, 0 reverted, 0 unreadable"
    )
