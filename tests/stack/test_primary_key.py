"""A primary key changes as the guided Dag does it, on a real database and its connector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import timedelta

import pytest

from infra.clients import run_sql
from infra.demo.compare import compare_source
from lakehouse.config import Settings
from lakehouse.config.sections import ReconcileConfig
from lakehouse.errors import KeyChangeRefused, NotYet
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.rekeying.connector import source_connector
from lakehouse.rekeying.table import Rekeying, open_rekeying
from lakehouse.steps.runner import execute
from tests.soak.product import Product
from tests.stack.conftest import Stack
from tests.support.narrowed import narrowed
from tests.support.reconciling import Compared, states

NAME, TABLE = "inventory", "rekeyed"
MADE = (
    f"CREATE TABLE {TABLE} (id int PRIMARY KEY, code text NOT NULL, note text)",
    f"INSERT INTO {TABLE} VALUES (1, 'a', NULL), (2, 'b', NULL), (3, 'c', 'x'), (4, 'd', NULL)",
    f"DELETE FROM {TABLE} WHERE id = 4",
)
CHANGED = f"ALTER TABLE {TABLE} DROP CONSTRAINT {TABLE}_pkey, ADD PRIMARY KEY (code)"
# Under the old key the second one would be another row.
AFTER = (
    f"UPDATE {TABLE} SET note = 'y' WHERE code = 'b'",
    f"UPDATE {TABLE} SET id = 20 WHERE code = 'a'",
    f"INSERT INTO {TABLE} VALUES (1, 'e', NULL)",
    f"DELETE FROM {TABLE} WHERE code = 'c'",
)


@pytest.fixture
def product(
    spark, settings: Settings, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Product]:
    database, whole = stack.database(NAME), stack.source(NAME)
    monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps({"bootstrap.servers": stack.state.kafka}))
    monkeypatch.setenv("LAKEHOUSE_CONNECT", str(stack.state.connect))
    monkeypatch.setenv("LAKEHOUSE_DATABASE", json.dumps(asdict(database)))
    run_sql(database, *MADE)
    stack.barrier(NAME)
    marked = ReconcileConfig(marker=whole.control_tables[0], wait=timedelta(minutes=2))
    source = narrowed(whole, f"{NAME}_{TABLE}", rf"public\.{TABLE}", reconcile=marked)
    yield Product(spark, settings, source)
    source_connector(whole, stack.settings).restart(60)
    run_sql(database, f"DROP TABLE {TABLE}")


def rekeying(product: Product, stack: Stack) -> Rekeying:
    """The table as a step finds it."""
    sides = stack.database(NAME), source_connector(product.source, product.settings)
    return open_rekeying(product.source, product.settings, product.ledger, f"public.{TABLE}", sides)


def test_silver_equals_the_source_under_the_key_that_it_got_while_nobody_wrote(
    product: Product, stack: Stack
):
    database = stack.database(NAME)
    product.run()
    run_sql(database, f"UPDATE {TABLE} SET note = 'z' WHERE id = 2")
    stack.barrier(NAME)
    with pytest.raises(NotYet, match="not drained within 0 s"):
        rekeying(product, stack).drain(0)
    product.run()
    drained = rekeying(product, stack).drain(100)
    run_sql(database, CHANGED)
    with pytest.raises(KeyChangeRefused, match="the connector runs"):
        rekeying(product, stack).follow(product.spark, drained, "ada")
    connector = source_connector(product.source, product.settings)
    connector.stop(60)
    assert connector.is_stopped
    late = replace(drained, writes=drained.writes - 1)
    with pytest.raises(KeyChangeRefused, match="1 rows of it were written since it was drained"):
        rekeying(product, stack).follow(product.spark, late, "ada")
    said = f"table public.{TABLE}: its key was id, and is code now"
    assert rekeying(product, stack).follow(product.spark, drained, "ada") == said
    assert (
        rekeying(product, stack)
        .follow(product.spark, drained, "ada")
        .endswith("its key is code as before")
    )
    connector.restart(60)
    compared = Compared(product, database, database)
    assert states(compared.run()) == {"equal"}

    for statement in AFTER:
        run_sql(database, statement)
    stack.barrier(NAME)
    cut = product.run()
    found = compare_source(product.source, database, product.ledger.catalog, cut, only=(TABLE,))
    assert [(row.silver_rows, row.examples) for row in found] == [(3, ())]
    newest = product.ledger.schema_versions(product.source.name)[-1]
    assert [c["name"] for c in json.loads(newest.columns) if c["key"]] == ["code"]

    # Messages from before the change name rows by the old key: a rebuild says so and changes none.
    again = Rebuild((f"public.{TABLE}",))
    context = replace(compared.context(), run_id="rebuild__key", full=False, rebuild=again)
    assert "key changed" in execute("apply", context).message
    assert product.ledger.newest_cut(product.source.name) == cut
