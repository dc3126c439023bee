"""Values that do not survive the wire arrive as the closed list says, and are reported so.

The list is `tests.soak.unsurviving`. Each value is written once into a table of its type, then the
tables are read again by an incremental snapshot; what Kafka holds is compared with the list.
"""

from __future__ import annotations

import json

import pytest

from infra.clients import connection, run_sql
from infra.sources import SAMPLE_SOURCES, Engine
from lakehouse.config import Settings
from lakehouse.plan.batches.losses import LossClass
from lakehouse.plan.records import RESULTS, SCHEMA_VERSIONS, ResultRow, SchemaVersionRow
from lakehouse.quality.schemas.losses import column_losses
from tests.soak.product import Product
from tests.soak.unsurviving import ABSENT, LOSSES, Loss, Reported
from tests.stack.conftest import Stack
from tests.support.narrowed import narrowed
from tests.support.sampling import sample

ANY_DATE = "SET sql_mode = 'ALLOW_INVALID_DATES'"


def losses_of(name: str) -> dict[str, list[Loss]]:
    """The list's values for one source, by table: one for each type."""
    engine = SAMPLE_SOURCES[name].engine
    mine = [loss for loss in LOSSES if engine in loss.engines]
    types = list(dict.fromkeys(loss.sql_type for loss in mine))
    return {
        f"lost_{number}": [loss for loss in mine if loss.sql_type == sql_type]
        for number, sql_type in enumerate(types)
    }


def write_values(stack: Stack, name: str, tables: dict[str, list[Loss]]) -> None:
    database = stack.database(name)
    for table, losses in tables.items():
        kind = losses[0].sql_type
        run_sql(database, f"CREATE TABLE {table} (id int PRIMARY KEY, v {kind})")
    with connection(database) as session:
        if database.engine is not Engine.POSTGRESQL:
            session.cursor().execute(ANY_DATE)
        for table, losses in tables.items():
            for number, loss in enumerate(losses):
                session.cursor().execute(f"INSERT INTO {table} VALUES ({number}, {loss.value})")
        session.commit()


def sent(stack: Stack, topic: str, op: str, count: int) -> dict[int, tuple[int, object]]:
    """Offset and value of each row's event of one kind, by the row's number."""
    messages = stack.kafka.await_messages(
        topic, lambda some: sum(message.op == op for message in some) >= count
    )
    return {
        message.after["id"]: (message.offset, message.after.get("v", ABSENT))
        for message in messages
        if message.op == op
    }


def _kind(name: str) -> str:
    """MySQL and MariaDB are of one kind."""
    return str(SAMPLE_SOURCES[name].engine is Engine.POSTGRESQL)


@pytest.mark.parametrize("name", sample(SAMPLE_SOURCES, _kind))
def test_what_does_not_survive_arrives_as_listed_and_is_reported(
    spark, settings: Settings, stack: Stack, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps({"bootstrap.servers": stack.state.kafka}))
    tables, schema = losses_of(name), SAMPLE_SOURCES[name].captured_schema
    barrier = stack.barrier(name)
    write_values(stack, name, tables)
    barrier.pass_one()
    topics = {table: f"{name}.{schema}.{table}" for table in tables}
    streamed = {
        table: sent(stack, topics[table], "c", len(losses)) for table, losses in tables.items()
    }
    assert values(streamed) == {
        table: [loss.streamed for loss in losses] for table, losses in tables.items()
    }

    source = narrowed(stack.source(name), f"{name}_values", r"\w+\.lost_\w+")
    product = Product(spark, settings, source)
    product.run()
    quarantined = {
        (row.topic, row.offset): row.reason
        for row in product.quarantined()
        if row.topic in topics.values()
    }
    assert quarantined == {
        (topics[table], streamed[table][number][0]): "bad_value"
        for table, losses in tables.items()
        for number, loss in enumerate(losses)
        if loss.reported is Reported.QUARANTINE
    }
    lossy = lossy_tables(product)
    assert [
        table
        for table, losses in tables.items()
        if losses[0].reported is Reported.COLUMN and table not in lossy
    ] == []
    assert {
        table
        for table, losses in tables.items()
        if any(loss.reported is Reported.FINDING for loss in losses)
    } <= found_tables(product)

    names = [f"{schema}.{table}" for table in tables]
    stack.run(
        name,
        "INSERT INTO debezium_signal VALUES ('lost', 'execute-snapshot', "
        f"'{json.dumps({'type': 'incremental', 'data-collections': names})}')",
    )
    read = {table: sent(stack, topics[table], "r", len(losses)) for table, losses in tables.items()}
    assert values(read) == {
        table: [loss.read for loss in losses] for table, losses in tables.items()
    }


def lossy_tables(product: Product) -> set[str]:
    """The tables whose column `v` is listed as lossy."""
    source = product.source
    rows = product.ledger.rows(SCHEMA_VERSIONS, source=source.name)
    versions = [row for row in rows if isinstance(row, SchemaVersionRow)]
    losses = column_losses(versions, source)
    return {
        table.rpartition("__")[2]
        for table, columns in losses.items()
        for column in columns
        if column.name == "v" and column.loss is LossClass.LOSSY
    }


def found_tables(product: Product) -> set[str]:
    """The tables of which an expectation did not hold."""
    rows = product.ledger.rows(RESULTS, source=product.source.name)
    return {
        row.table.rpartition("__")[2]
        for row in rows
        if isinstance(row, ResultRow) and not row.success
    }


def values(found: dict[str, dict[int, tuple[int, object]]]) -> dict[str, list[object]]:
    return {table: [rows[number][1] for number in sorted(rows)] for table, rows in found.items()}
