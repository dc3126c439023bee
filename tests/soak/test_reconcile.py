"""Many damages are all found by their keys, and many clean comparisons find nothing.

Of each of two databases 25 clean comparisons and 10 damages. `RECONCILE_CLEAN`,
`RECONCILE_DAMAGES` and `RECONCILE_SEED` change the size; figures are printed.
"""

from __future__ import annotations

import os
import time
from random import Random

import pytest

from tests.stack.conftest import Stack
from tests.support.reconciling import TABLES, differences, opened, states, writer

CLEAN = int(os.environ.get("RECONCILE_CLEAN", "25"))
DAMAGES = int(os.environ.get("RECONCILE_DAMAGES", "10"))
SEED = int(os.environ.get("RECONCILE_SEED", "4"))


@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("name", list(TABLES))
def test_all_damages_are_found_and_nothing_else(spark, stack_settings, monkeypatch, name):
    compared = opened(spark, stack_settings, Stack(stack_settings), name, monkeypatch)
    compared.product.run()
    random, begun, keys = Random(SEED), time.monotonic(), 0
    # Slow enough that an hour's changes do not make the last comparison another one than the first.
    with writer(compared.database, name, hot=True, every_s=0.5):
        for number in range(CLEAN):
            if number % 5 == 0:
                compared.product.run()
            found = compared.run()
            assert (differences(found), states(found)) == ({}, {"equal"}), number
        clean_s = time.monotonic() - begun
        for number in range(DAMAGES):
            damaged = compared.corrupt(random)
            found = compared.run()
            assert differences(found) == damaged, number
            keys += sum(map(len, damaged.values()))
            again = compared.repair(found)
            assert (differences(again), states(again)) == ({}, {"equal"}), number
    all_s = time.monotonic() - begun
    print(
        f"\n{name}, seed {SEED}: {CLEAN} clean comparisons in {clean_s:.0f} s, nothing found; ",
        end="",
    )
    print(f"{DAMAGES} damages with {keys} keys, all found and repaired, in {all_s - clean_s:.0f} s")
