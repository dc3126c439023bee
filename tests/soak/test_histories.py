"""Many more histories through the product than `make test` tries, and what that took.

`LAKEHOUSE_SOAK_FACTOR` says how many times as many (50), `LAKEHOUSE_SOAK_SEED` where they begin,
`LAKEHOUSE_SOAK_LIVES` how many share a run: a run of many costs little more than one of few.
"""

from __future__ import annotations

import math
import os
import platform
import time
from datetime import UTC, datetime

import pytest

from tests.property.dialects import DIALECTS
from tests.property.packs import LIVES, PACKS, SOAK_CUTS, draw, judge, run
from tests.property.product import open_product

FACTOR = float(os.environ.get("LAKEHOUSE_SOAK_FACTOR", "50"))
TOGETHER = int(os.environ.get("LAKEHOUSE_SOAK_LIVES", "60"))
# Other histories than those of `make test`.
SEED = int(os.environ.get("LAKEHOUSE_SOAK_SEED", "1000"))


@pytest.mark.timeout(0)
@pytest.mark.parametrize("connector", DIALECTS)
def test_silver_equals_the_source_over_many_histories(
    spark, settings, tmp_path, connector: str
) -> None:
    packs = math.ceil(PACKS * LIVES * FACTOR / TOGETHER)
    started, seeds = time.monotonic(), range(SEED, SEED + packs)
    broken, lives, cuts = {}, 0, 0
    for seed in seeds:
        drawn = draw(connector, seed, TOGETHER, SOAK_CUTS)
        product = open_product(
            spark, settings, tmp_path, DIALECTS[connector], f"soak_{connector}_{seed}"
        )
        try:
            states = run(drawn.pack, drawn.plan, product)
            found = judge(drawn.pack, drawn.plan, states)
        except AssertionError as failure:
            states, found = [], {"run": str(failure)}
        broken |= {
            f"draw({connector!r}, {seed}, {TOGETHER}, SOAK_CUTS) {name}": law
            for name, law in found.items()
        }
        lives, cuts = lives + len(drawn.lives), cuts + len(states)
    print(
        f"\n{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.node()}, {os.cpu_count()} cores: "
        f"{connector}, {lives} histories, {cuts} cuts, seeds {seeds.start} to {seeds.stop - 1}, "
        f"{time.monotonic() - started:.0f} s, {len(broken)} broken"
    )
    assert broken == {}
