"""A breaking change while rows keep coming: nothing behind it is applied, nothing is lost.

A writer commits transactions over all tables while two of them change and the product runs. Where
a table's change begins is read from Kafka, so that nothing of the product says it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import pytest

from infra.clients import connection, run_sql
from infra.demo.compare import compare_source
from infra.sources import SAMPLE_SOURCES, Database
from lakehouse.config import Settings, SourceConfig
from lakehouse.config.sections import SchemaChangesConfig
from lakehouse.inspection.addresses import CONNECT, DATABASE
from lakehouse.names import silver_namespace
from lakehouse.plan.records import SCHEMA_VERSIONS
from lakehouse.quality.reports.table_states import NEEDS_SNAPSHOT, list_tables
from lakehouse.quality.schemas.decisions import Decision, decide
from lakehouse.signalling.resnapshot import read_stale_again
from tests.soak.product import Product
from tests.stack.conftest import Stack
from tests.stack.messages import Message
from tests.support.narrowed import narrowed

# The second one's change rounds what is stored, of which no event comes.
NARROWED, ROUNDED, FREE = TABLES = ("load_narrowed", "load_rounded", "load_free")
CREATE = "CREATE TABLE {} (id int NOT NULL PRIMARY KEY, qty bigint, price decimal(10, 4))"
# On a slow machine more would come than the runs can take.
PAUSE_S = 0.4
# So many rows behind the change are in Kafka before the product sees it.
BEHIND = 20


@dataclass(frozen=True)
class Breaking:
    """How a database's tables change, and what holds them."""

    policy: SchemaChangesConfig
    narrow: str
    round: str


BREAKING = {
    "inventory": Breaking(
        SchemaChangesConfig(require_approval=("narrow_type", "change_type")),
        "ALTER COLUMN qty TYPE int",
        "ALTER COLUMN price TYPE decimal(10, 2)",
    ),
    "shop": Breaking(
        SchemaChangesConfig(mode="fail"), "MODIFY qty int", "MODIFY price decimal(10, 2)"
    ),
}


def write_rows(database: Database, stopped: threading.Event) -> int:
    """Commit transactions until it is stopped; gives the last row's id."""
    number = 0
    with connection(database) as session:
        while not stopped.wait(PAUSE_S):
            number += 1
            row = f"({number}, {number}, {number}.1234)"
            for table in TABLES:
                session.cursor().execute(f"INSERT INTO {table} (id, qty, price) VALUES {row}")
            session.cursor().execute(f"UPDATE {FREE} SET qty = -qty WHERE id = {number // 2}")
            session.commit()
    return number


@contextmanager
def writer(database: Database) -> Iterator[Callable[[], int]]:
    """A writer that runs; calling what is given ends it and says how many rows there are."""
    stopped = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write_rows, database, stopped)

        def stop() -> int:
            stopped.set()
            return writing.result()

        try:
            yield stop
        finally:
            stopped.set()


def changed_at(messages: list[Message]) -> list[int]:
    """The ids of the rows from the first one on that comes with another schema."""
    first = messages[0].schema
    place = next((i for i, each in enumerate(messages) if each.schema != first), len(messages))
    return [each.after["id"] for each in messages[place:]]


@dataclass(frozen=True)
class Load:
    """A source under load and its product."""

    stack: Stack
    name: str
    product: Product

    @property
    def source(self) -> SourceConfig:
        return self.product.source

    @property
    def schema(self) -> str:
        return SAMPLE_SOURCES[self.name].captured_schema

    def await_messages(self, table: str, is_enough: Callable[[list[Message]], bool]) -> None:
        self.stack.kafka.await_messages(f"{self.name}.{self.schema}.{table}", is_enough)

    def first_changed(self, table: str) -> int:
        """The first row behind a table's change, once some of them are in Kafka."""
        found = self.stack.kafka.await_messages(
            f"{self.name}.{self.schema}.{table}", lambda some: len(changed_at(some)) >= BEHIND
        )
        return changed_at(found)[0]

    def ids(self, table: str) -> list[int]:
        """The rows that a reader of silver's `main` sees."""
        silver = f"{silver_namespace(self.source.name)}.{self.schema}__{table}"
        scan = self.product.ledger.catalog.load_table(silver).scan(selected_fields=("id",))
        return sorted(scan.to_arrow()["id"].to_pylist())

    def approve(self, table: str) -> None:
        ledger, source = self.product.ledger, self.source
        decision = Decision(f"{self.schema}.{table}", "ann", datetime.now(UTC))
        known = ledger.schema_versions(source.name)
        rows = decide(known, source.connector, source.schema_changes, decision)
        ledger.append(SCHEMA_VERSIONS, rows)

    def states(self) -> dict[str, str]:
        """What `lakehouse tables` says of each table."""
        ledger, source = self.product.ledger, self.source
        found = list_tables(ledger, source.name, source.connector, None)
        return {state.identity.rpartition(".")[2]: state.state for state in found}

    def read_again(self, tables: Iterable[str], rows: int) -> None:
        """What the run that published does about tables that need it, until all is in Kafka."""
        told = read_stale_again(self.product.context())
        assert [text for text in told if "sent to" not in text] == []
        again = read_stale_again(self.product.context())
        assert [text for text in again if "is already in" not in text] == []
        for table in tables:
            self.await_messages(table, lambda some: sum(m.op == "r" for m in some) >= rows)


def open_load(spark, settings: Settings, stack: Stack, name: str) -> Load:
    source = narrowed(
        stack.source(name),
        f"{name}_load",
        r"\w+\.load_\w+",
        schema_changes=BREAKING[name].policy.model_copy(update={"resnapshot": True}),
    )
    return Load(stack, name, Product(spark, settings, source))


@pytest.mark.further
@pytest.mark.parametrize("name", BREAKING)
def test_no_row_behind_a_breaking_change_is_applied_and_none_is_lost(
    spark, settings: Settings, stack: Stack, monkeypatch: pytest.MonkeyPatch, name: str
):
    load, database = open_load(spark, settings, stack, name), stack.database(name)
    for variable, value in {
        "LAKEHOUSE_KAFKA": json.dumps({"bootstrap.servers": stack.state.kafka}),
        CONNECT: stack.state.connect,
        DATABASE: json.dumps(asdict(database)),
    }.items():
        monkeypatch.setenv(variable, value)
    breaking = BREAKING[name]
    barrier = stack.barrier(name)
    run_sql(database, *(CREATE.format(table) for table in TABLES))
    with writer(database) as stop:
        load.await_messages(FREE, lambda some: len(some) >= BEHIND)
        load.product.run()
        run_sql(database, f"ALTER TABLE {NARROWED} {breaking.narrow}")
        run_sql(database, f"ALTER TABLE {ROUNDED} {breaking.round}")
        first = {table: load.first_changed(table) for table in (NARROWED, ROUNDED)}
        seen = 0
        for _ in range(2):
            cut = load.product.run()
            excluded = json.loads(cut.excluded)
            assert [table for table in first if not any(table in each for each in excluded)] == []
            for table, end in first.items():
                assert load.ids(table) == list(range(1, end))
            free = load.ids(FREE)
            assert free == list(range(1, len(free) + 1))
            assert len(free) > max(seen, *first.values())
            seen = len(free)
        for table in first:
            load.approve(table)
        load.product.run()
        for table in first:
            assert len(load.ids(table)) > seen
        rows = stop()
    barrier.pass_one()
    load.product.run()
    # Before anything is read again, which would heal what was lost.
    assert [table for table in TABLES if load.ids(table) != list(range(1, rows + 1))] == []
    assert load.states() == {**dict.fromkeys(first, NEEDS_SNAPSHOT), FREE: "live"}
    load.read_again(first, rows)
    barrier.pass_one()
    cut = load.product.run()
    compared = compare_source(load.source, database, load.product.ledger.catalog, cut, only=TABLES)
    assert [(row.table, row.silver_rows, row.examples) for row in compared] == [
        (f"{load.schema}.{table}", rows, ()) for table in sorted(TABLES)
    ]
    assert load.states() == dict.fromkeys(TABLES, "live")
