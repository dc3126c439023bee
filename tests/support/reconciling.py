"""A source that is compared with its silver while a writer and runs of ingest go on."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from pyspark.sql import SparkSession

from infra.clients import connection
from infra.sources import Database
from lakehouse.config import Settings
from lakehouse.config.sections import ReconcileConfig
from lakehouse.inspection.addresses import database_of, signals_of
from lakehouse.names import silver_namespace
from lakehouse.plan.reconciling.outcome import Outcome
from lakehouse.plan.submission import RECONCILE_RUN
from lakehouse.reconciling.entry import run
from lakehouse.reconciling.repairing import repair
from lakehouse.reconciling.rounds import Patience
from lakehouse.steps.context import StepContext
from tests.soak.product import Product
from tests.stack.conftest import Stack
from tests.support.corruption import Target, corrupt
from tests.support.narrowed import narrowed

DEADLINE_S = 240
# Table, a column of text and one of decimals; all have the key `id`.
TABLES = {
    "inventory": (
        ("public__customers", "name", "credit_limit"),
        ("public__orders", "note", "total"),
    ),
    "shop": (("shop__customers", "name", "balance"), ("shop__products", "title", "price")),
}
# The writer's own rows come and go.
WRITING = {
    "inventory": (
        "INSERT INTO orders (id, customer_id, ordered_at) VALUES (50000 + {0}, 1, '2026-01-01')",
        "UPDATE orders SET total = total + 1 WHERE id = 50000 + {0} / 2",
        "DELETE FROM orders WHERE id = 50000 + {0} / 3",
    ),
    "shop": (
        "INSERT INTO customers (id, email, name) VALUES (50000 + {0}, 'w{0}@example.org', 'w')",
        "UPDATE customers SET balance = balance + 1 WHERE id = 50000 + floor({0} / 2)",
        "DELETE FROM customers WHERE id = 50000 + floor({0} / 3)",
    ),
}

# One row never stands still.
HOT = {
    "inventory": ("UPDATE locations SET floor = {0} WHERE code = 'HAM-1'",),
    "shop": ("UPDATE categories SET name = 'c{0}' WHERE id = 1",),
}


@contextmanager
def writer(
    database: Database, name: str, *, hot: bool = False, every_s: float = 0.1
) -> Iterator[None]:
    """Transactions, one after the other, until the block ends."""
    statements = (*WRITING[name], *(HOT[name] if hot else ()))
    stopped = threading.Event()

    def write() -> None:
        with connection(database) as session:
            while not stopped.wait(every_s):
                number = next(COUNTER)
                for statement in statements:
                    session.cursor().execute(statement.format(number))
                session.commit()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            yield
        finally:
            stopped.set()
        writing.result()


COUNTER = iter(range(1, 1_000_000))


@dataclass(frozen=True)
class Compared:
    """A source, and how it is compared.

    Attributes:
        database: The login that changes rows, as an application has one.
        reader: The login that reads them to compare.
    """

    product: Product
    database: Database
    reader: Database

    def context(self) -> StepContext:
        return StepContext(
            source=self.product.source,
            settings=self.product.settings,
            spark=self.product.spark,
            ledger=self.product.ledger,
            run_id=f"{RECONCILE_RUN}{uuid.uuid4().hex[:8]}",
            run_started=datetime.now(UTC),
            full=True,
        )

    def run(self) -> Outcome:
        """Compare; runs of ingest go on meanwhile."""
        patience = Patience(DEADLINE_S, self.product.run)
        _, found = run(self.context(), self.reader, (), patience)
        assert found is not None
        return found

    def corrupt(self, random: Random) -> dict[str, dict[str, str]]:
        """Damage some tables; gives silver table → key → fault."""
        source, namespace = self.product.source, silver_namespace(self.product.source.name)
        tables = TABLES[source.topic_prefix]
        targets = [Target(f"{namespace}.{table}", "id", *rest) for table, *rest in tables]
        return corrupt(self.product.spark, self.product.ledger, source.name, targets, random)

    def repair(self, found: Outcome) -> Outcome:
        """Repair, let ingest go on until all is equal or too late, and compare."""
        told = repair(self.context(), found)
        assert not [sentence for sentence in told if "not read again" in sentence], told
        deadline = time.monotonic() + DEADLINE_S
        while True:
            self.product.run()
            again = self.run()
            if states(again) == {"equal"} or time.monotonic() > deadline:
                return again


# What other tests leave in the same database may be held, or not be comparable.
READ = {
    "inventory": r"public\.(customers|orders|locations|debezium_signal)",
    "shop": r"shop\.(customers|products|categories|debezium_signal)",
}


def opened(
    spark: SparkSession, settings: Settings, stack: Stack, name: str, patched: pytest.MonkeyPatch
) -> Compared:
    """Some tables of a source of the stack under a name of its own, with a marker.

    It has the logins that the stack gives the source: one that reads, one that writes signals.
    """
    source = stack.source(name)
    reader, signals = (found(source, stack.settings) for found in (database_of, signals_of))
    assert reader, f"{name}: expected a login that reads"
    assert signals, f"{name}: expected a login that writes signals"
    patched.setenv("LAKEHOUSE_DATABASE", json.dumps(asdict(reader)))
    patched.setenv("LAKEHOUSE_SIGNALS", json.dumps(asdict(signals)))
    stack.barrier(name)
    marked = ReconcileConfig(marker=source.control_tables[0], wait=timedelta(minutes=5))
    prefix = source.topic_prefix
    mine = narrowed(source, f"{prefix}_compared", READ[prefix], reconcile=marked)
    return Compared(Product(spark, settings, mine), stack.database(name), reader)


def differences(found: Outcome) -> dict[str, dict[str, str]]:
    return {
        table.silver: {each.key: each.fault.value for each in table.found}
        for table in found.tables
        if table.found
    }


def states(found: Outcome) -> set[str]:
    return {table.state for table in found.tables}
