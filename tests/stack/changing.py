"""Tables with hostile names in the stack's databases, and a writer that changes their rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from infra.clients import connection, kafka_admin, query, run_sql
from infra.demo.barrier import Barrier
from infra.sources import SAMPLE_SOURCES, Database, Engine
from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity, topic_of
from lakehouse.plan.signals.request import SnapshotType
from lakehouse.plan.signals.sql import quoted_table
from tests.stack.conftest import Stack
from tests.stack.messages import Message

TABLE = "si'g.nal$t"
# Of an incremental snapshot of a name with a blank a connector dies. Kafka takes topics that differ
# by a dot for an underscore alone for one.
BLOCKED = "rea'd al one.t"
TABLES = {SnapshotType.INCREMENTAL: TABLE, SnapshotType.BLOCKING: BLOCKED}
# Of these rows each third one is hostile, and the condition takes those up to LAST.
ROWS, LAST = 8_000, 2_400
HOSTILE = 'it\'s \\ ? {x} "q" `b` ; -- /* \N{SMILE}'
CREATE = "CREATE TABLE {} (id int NOT NULL PRIMARY KEY, state varchar(60) NOT NULL, qty int)"


def identity(name: str, table: str = TABLE) -> TableIdentity:
    schema = SAMPLE_SOURCES[name].captured_schema
    is_postgresql = SAMPLE_SOURCES[name].engine is Engine.POSTGRESQL
    return TableIdentity(*((None, schema) if is_postgresql else (schema, None)), table)


def quoted(stack: Stack, name: str, table: str = TABLE) -> str:
    connector = stack.source(name).connector
    return quoted_table(identity(name, table).parts(connector), CONNECTORS[connector].sql)


def topic(stack: Stack, name: str, table: str = TABLE) -> str:
    source = stack.source(name)
    return topic_of(identity(name, table), source.topic_prefix, source.connector)


def fill(database: Database, table: str, count: int) -> None:
    run_sql(database, CREATE.format(table))
    with connection(database) as opened:
        for first in range(1, count + 1, 800):
            rows = [
                (number, HOSTILE if number % 3 == 0 else "plain", number)
                for number in range(first, first + 800)
            ]
            values = ", ".join(["(%s, %s, %s)"] * len(rows))
            flat = [value for row in rows for value in row]
            statement = f"INSERT INTO {table.replace('%', '%%')} (id, state, qty) VALUES {values}"
            opened.cursor().execute(statement, flat)
            opened.commit()


@dataclass(frozen=True)
class Changing:
    """A source with a table of this test's own, and how its rows are changed."""

    stack: Stack
    name: str
    barrier: Barrier

    @contextmanager
    def writer(self, table: str = TABLE, every_s: float = 0.02) -> Iterator[None]:
        """Change rows that the condition takes, and make and delete others."""
        stopped = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            target = quoted(self.stack, self.name, table)
            writing = pool.submit(self._write, target, every_s, stopped)
            try:
                yield
            finally:
                stopped.set()
                writing.result()

    def _write(self, table: str, every_s: float, stopped: threading.Event) -> None:
        number = 0
        with connection(self.stack.database(self.name)) as opened:
            while not stopped.wait(every_s):
                number += 1
                for statement in (
                    f"UPDATE {table} SET qty = qty + 1 WHERE id = {number * 3 % LAST}",
                    f"DELETE FROM {table} WHERE id < 0",
                    f"INSERT INTO {table} (id, state, qty) VALUES ({-number}, 'new', 0)",
                ):
                    opened.cursor().execute(statement)
                opened.commit()
            opened.cursor().execute(f"DELETE FROM {table} WHERE id < 0")
            opened.commit()

    def end(self, table: str) -> int:
        """The end offset of its topic."""
        name = topic(self.stack, self.name, table)
        return kafka_admin(self.stack.state.kafka).end_offsets([name])[(name, 0)]

    def since(self, table: str, offset: int) -> list[Message]:
        """What came since then, once all has come."""
        self.barrier.pass_one()
        found = self.stack.kafka.read(topic(self.stack, self.name, table))
        return [each for each in found if each.offset >= offset]

    def wanted(self, table: str) -> set[int]:
        """The rows that the condition takes, as the database has them."""
        from_table = quoted(self.stack, self.name, table)
        asked = f"SELECT id, state FROM {from_table} WHERE id <= {LAST}"
        rows = query(self.stack.database(self.name), asked)
        return {number for number, state in rows if state == HOSTILE}
