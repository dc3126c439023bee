"""A table whose older rows the source changed in silence needs a snapshot until none is left."""

from __future__ import annotations

import pytest

from lakehouse.config import parse_source
from lakehouse.plan.cuts.stale import stale_of
from lakehouse.plan.records import STEPS
from lakehouse.quality.reports.table_states import TableState, list_tables
from tests.support.binlog import MySql
from tests.support.debezium import Table, column
from tests.support.runs import Runs

ID, QTY = column("id", "int32", optional=False), column("qty", "int64")
NARROW, MADE = column("amount", "int32"), column("made", "string")
COMMAND = "`lakehouse signal --source stale snapshot --table public.orders`"


def state_of(runs: Runs) -> TableState:
    (state,) = list_tables(runs.ledger, runs.source.name, runs.source.connector, None)
    return state


@pytest.fixture
def runs(spark, settings, tmp_path) -> Runs:
    mode = '[schema_changes]\nmode = "try_evolve"\n'
    source = parse_source(f'connector = "mysql"\ntopic_prefix = "stale"\n{mode}', "stale")
    return Runs(spark, settings, tmp_path, source)


@pytest.mark.further
def test_a_table_needs_a_snapshot_until_every_older_row_was_read_or_changed(runs: Runs):
    connector, orders = MySql("stale"), Table("orders", [ID, QTY])
    connector.define(orders, "CREATE")
    connector.commit(*((orders, "c", None, {"id": n, "qty": n}) for n in (1, 2, 3)))
    runs.run(connector)
    assert (state_of(runs).state, state_of(runs).reason) == ("live", "")

    orders.columns = [ID, NARROW, MADE]
    clause = "CHANGE qty amount INT, ADD COLUMN made VARCHAR(9) DEFAULT (USER())"
    connector.define(orders, "ALTER", clause)
    runs.run(connector)
    assert state_of(runs).state == "live", "no event has shown the change yet"
    connector.commit((orders, "c", None, {"id": 4, "amount": 4, "made": "ann"}))
    found = runs.run(connector)["apply"].detail["findings"]
    marked = state_of(runs)
    assert marked.state == "needs snapshot"
    assert marked.reason.endswith(COMMAND)
    assert "column 'made': it was added with the default USER()" in marked.reason
    assert "column 'amount': its type changed (bigint → int)" in marked.reason
    assert sum("silver_stale.public__orders needs a snapshot" in text for text in found) == 1

    # A change alone counts no rows: of a large table that would cost a scan in every run.
    connector.commit((orders, "d", {"id": 3, "amount": 3, "made": "u"}, None))
    connector.read_increment(orders, {"id": 1, "amount": 1, "made": "root"})
    assert runs.run(connector)["apply"].detail["findings"] == []
    assert state_of(runs).reason == marked.reason, "row 2 is as old as before"
    connector.read_increment(orders, {"id": 2, "amount": 2, "made": "root"})
    runs.run(connector)
    assert (state_of(runs).state, state_of(runs).reason) == ("live", "")
    assert stale_of(runs.ledger.newest_cut("stale")) == {}
    assert runs.rows("orders", "id", "made") == [(1, "root"), (2, "root"), (4, "ann")]


@pytest.mark.further
def test_a_batch_that_is_applied_again_gives_its_columns_their_defaults_again(
    spark, settings, tmp_path
):
    source = parse_source('connector = "mysql"\ntopic_prefix = "again"', "again")
    runs, connector = Runs(spark, settings, tmp_path, source), MySql("again")
    orders, fresh = Table("orders", [ID, QTY]), Table("fresh", [ID, QTY])
    connector.define(orders, "CREATE")
    connector.commit(*((orders, "c", None, {"id": n, "qty": n}) for n in (1, 2)))
    runs.run(connector)

    connector.define(fresh, "CREATE")
    connector.commit((fresh, "c", None, {"id": 1, "qty": 1}))
    made = "ADD COLUMN made VARCHAR(9) DEFAULT (USER())"
    clause = f"ADD COLUMN tier VARCHAR(9) DEFAULT 'basic', {made}"
    for table in (orders, fresh):
        table.columns = [ID, QTY, column("tier", "string"), MADE]
        connector.define(table, "ALTER", clause)
        connector.commit((table, "c", None, {"id": 3, "qty": 3, "tier": "gold", "made": "ann"}))
    # Tables and their columns are there, and nothing that was staged is published.
    runs.run(connector, STEPS[:3])
    found = runs.run(connector)["apply"].detail["findings"]

    older = ("basic", None)
    newer = (3, "gold", "ann")
    assert runs.rows("orders", "id", "tier", "made") == [(1, *older), (2, *older), newer]
    assert runs.rows("fresh", "id", "tier", "made") == [(1, *older), newer]
    assert sum("'made': it was added with the default USER()" in text for text in found) == 2
    states = list_tables(runs.ledger, "again", "mysql", None)
    assert {state.state for state in states} == {"needs snapshot"}
    # Published, it is not taken for new again.
    after = {"id": 2, "qty": 2, "tier": "x", "made": "y"}
    connector.commit((orders, "u", {**after, "tier": "basic"}, after))
    runs.run(connector)
    assert runs.rows("orders", "id", "tier") == [(1, "basic"), (2, "x"), (3, "gold")]
