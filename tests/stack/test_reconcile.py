"""Reconcile finds every damage of silver by its key and nothing else, and repairs it.

With a writer that changes rows of the same tables meanwhile; `make soak` does it on MySQL too.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from random import Random

import pytest

from lakehouse.config import Settings
from lakehouse.quality.summary import summarise_validation
from tests.stack.conftest import Stack
from tests.support.reconciling import TABLES, Compared, differences, opened, states, writer
from tests.support.sampling import EVERY_CASE

SEED = 6


@pytest.fixture(params=list(TABLES) if EVERY_CASE else ["inventory"])
def compared(request, spark, settings: Settings, stack: Stack, monkeypatch) -> Compared:
    name, database = request.param, stack.database(request.param)
    monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps({"bootstrap.servers": stack.state.kafka}))
    monkeypatch.setenv("LAKEHOUSE_CONNECT", str(stack.state.connect))
    monkeypatch.setenv("LAKEHOUSE_DATABASE", json.dumps(asdict(database)))
    stack.barrier(name)
    return opened(spark, settings, stack.source(name), database)


@pytest.mark.timeout(1200)
def test_every_damage_is_found_by_its_key_under_load_and_repaired(compared: Compared):
    product = compared.product
    product.run()
    with writer(compared.database, product.source.topic_prefix):
        assert states(compared.run()) == {"equal"}
        damaged = compared.corrupt(Random(SEED))
        found = compared.run()
        assert differences(found) == damaged
    report = summarise_validation(product.ledger, product.source.name, None)
    assert {finding.subject for finding in report.failed} == set(damaged)
    shown = {sample.key for finding in report.failed for sample in finding.samples}
    assert len(shown) == sum(map(len, damaged.values()))
    again = compared.repair(found)
    assert (differences(again), states(again)) == ({}, {"equal"})
