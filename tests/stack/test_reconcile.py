"""Reconcile finds every damage of silver by its key and nothing else, and repairs it.

With a writer that changes rows of the same tables meanwhile; `make soak` does it on MySQL too.
"""

from __future__ import annotations

import json
from random import Random

import pytest

from infra.clients import run_sql
from lakehouse.config import Settings
from lakehouse.plan.cuts.lag import SourceLag
from lakehouse.plan.event_position import shown_position
from lakehouse.plan.progress import Progress
from lakehouse.quality.reports.summary import summarise_validation
from lakehouse.spark.landing.lag import measure_lag
from tests.soak.product import Product
from tests.stack.conftest import Stack
from tests.support.reconciling import TABLES, Compared, differences, opened, states, writer
from tests.support.sampling import EVERY_CASE

SEED = 6
# The table that the writer changes.
WRITTEN = {"inventory": "public.orders", "shop": "shop.customers"}
CHANGE = {
    "inventory": "UPDATE orders SET note = 'late' WHERE id = 1",
    "shop": "UPDATE customers SET name = 'late' WHERE id = 1",
}


@pytest.fixture(params=list(TABLES) if EVERY_CASE else ["inventory"])
def compared(request, spark, settings: Settings, stack: Stack, monkeypatch) -> Compared:
    monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps({"bootstrap.servers": stack.state.kafka}))
    monkeypatch.setenv("LAKEHOUSE_CONNECT", str(stack.state.connect))
    return opened(spark, settings, stack, request.param, monkeypatch)


def test_every_damage_is_found_by_its_key_under_load_and_repaired(compared: Compared, stack: Stack):
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

    run_sql(compared.database, CHANGE[product.source.topic_prefix])
    stack.barrier(product.source.topic_prefix)
    assert_lag_ends_with_a_cut(product)


def assert_lag_ends_with_a_cut(product: Product) -> None:
    """What the rows of a run say of its lag, beside what was written before it."""
    waiting = measure_lag(product.source, product.settings, product.ledger)
    assert (waiting.messages > 0, waiting.waits_since is not None) == (True, True)
    cut = product.run()
    row = product.ledger.newest_run(product.source.name, "publish")
    assert row is not None
    lag = SourceLag.from_json(json.dumps(json.loads(row.detail)["lag"]))
    assert (lag.cut, lag.messages, lag.unseen) == (cut.cut_id, 0, "")
    assert lag.heartbeat is not None
    # Spark reads one from all events; the other is that of the newest message in Kafka.
    tops = {topic: top.position for (topic, _), top in Progress.from_json(cut.offsets).tops.items()}
    written = WRITTEN[product.source.topic_prefix]
    [table] = [each for each in lag.tables if each.table == written]
    top = tops[f"{product.source.topic_prefix}.{written}"]
    assert shown_position(table.position) == shown_position(top)
