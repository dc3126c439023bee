"""Many damages are all found by their keys, and many clean comparisons find nothing.

So many for each of two databases: 50 clean comparisons and 20 damages. `RECONCILE_CLEAN`,
`RECONCILE_DAMAGES` and `RECONCILE_SEED` change the size; figures are printed.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from random import Random

import pytest

from infra.home import StackHome
from infra.state import read_state
from lakehouse.config import load_source
from tests.stack.conftest import Stack
from tests.support.reconciling import TABLES, differences, opened, states, writer

CLEAN = int(os.environ.get("RECONCILE_CLEAN", "25"))
DAMAGES = int(os.environ.get("RECONCILE_DAMAGES", "10"))
SEED = int(os.environ.get("RECONCILE_SEED", "4"))


@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("name", list(TABLES))
def test_all_damages_are_found_and_nothing_else(spark, stack_settings, monkeypatch, name):
    state = read_state(StackHome(stack_settings.home))
    database = state.sources[name]
    monkeypatch.setenv("LAKEHOUSE_DATABASE", json.dumps(asdict(database)))
    Stack(stack_settings).barrier(name)
    compared = opened(spark, stack_settings, load_source(name, stack_settings), database)
    compared.product.run()
    random, begun, keys = Random(SEED), time.monotonic(), 0
    # Slow enough that an hour's changes do not make the last comparison another one than the first.
    with writer(database, name, hot=True, every_s=0.5):
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
