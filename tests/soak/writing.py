"""Writes a generated history into a real database, at a steady pace, in two sessions."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count

import pymysql

from infra.clients import Connection, connection, run_sql
from infra.sources import Database, Engine
from lakehouse.config import SourceConfig
from tests.soak import postgresql_types
from tests.soak.workload import Step, Workload

_SNAPSHOT_EVERY = 250
_READ_COMMITTED = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"


@dataclass(slots=True)
class Writer:
    """Writes one database's history; the next call goes on where the last one ended.

    Attributes:
        changes: Rows changed by committed transactions.
        transactions: By kind.
        snapshots: Incremental snapshots that were asked for.
    """

    source: SourceConfig
    database: Database
    workload: Workload
    changes: int = 0
    transactions: Counter[str] = field(default_factory=Counter)
    snapshots: int = 0
    _steps: Iterator[Step] = field(init=False)
    _signals: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self._steps = self.workload.steps()

    def create(self) -> None:
        """Make the tables and their first rows."""
        engine = self.database.engine
        prepare = postgresql_types.PREPARE if engine is Engine.POSTGRESQL else ()
        tables = self.workload.tables.values()
        run_sql(self.database, *prepare, *(sql for t in tables for sql in t.create_sql(engine)))
        with ExitStack() as stack:
            sessions = self._sessions(stack)
            for step in self.workload.opening():
                self._run(sessions, step)

    def write(self, changes: int, seconds: float) -> None:
        """Write about so many changes, in no less than so many seconds."""
        target, first, begun = self.changes + changes, self.changes, time.monotonic()
        with ExitStack() as stack:
            sessions = self._sessions(stack)
            while self.changes < target:
                self._run(sessions, next(self._steps))
                if self.workload.random.random() < 1 / _SNAPSHOT_EVERY:
                    self._snapshot(sessions[0])
                ahead = (self.changes - first) / changes * seconds - (time.monotonic() - begun)
                time.sleep(max(0.0, ahead))
            self._end(sessions)

    def close(self) -> None:
        """One change more in each table, so that its newest columns are in an event."""
        with ExitStack() as stack:
            sessions = self._sessions(stack)
            for step in self.workload.closing():
                self._run(sessions, step)

    def _end(self, sessions: list[Connection]) -> None:
        """A transaction that is open ends with its session."""
        for step in self.workload.ending():
            self._run(sessions, step)

    def _sessions(self, stack: ExitStack) -> list[Connection]:
        sessions = [stack.enter_context(connection(self.database)) for _ in range(2)]
        for session in sessions:
            if isinstance(session, pymysql.Connection):
                # As text with an exponent a decimal is a double to the server.
                session.encoders[Decimal] = lambda number, _: f"{number:f}"  # type: ignore[index]
                session.cursor().execute(_READ_COMMITTED)
        return sessions

    def _run(self, sessions: list[Connection], step: Step) -> None:
        session = sessions[step.session]
        cursor = session.cursor()
        for statement in step.statements:
            try:
                cursor.execute(statement.sql, statement.values or None)
            except Exception as failed:
                failed.add_note(f"{self.source.name}, {step.kind}: {statement}")
                raise
        if step.end == "commit":
            session.commit()
        elif step.end == "rollback":
            session.rollback()
        self.changes += step.changes
        self.transactions[step.kind] += step.end is not None

    def _snapshot(self, session: Connection) -> None:
        """Ask for an incremental snapshot of some tables, by the signal table."""
        names = self.workload.snapshot_tables()
        schema = self.source.control_tables[0].partition(".")[0]
        data = {"type": "incremental", "data-collections": [f"{schema}.{name}" for name in names]}
        session.cursor().execute(
            f"INSERT INTO {self.source.control_tables[0]} (id, type, data) VALUES (%s, %s, %s)",
            (f"soak-{next(self._signals)}", "execute-snapshot", json.dumps(data)),
        )
        session.commit()
        self.snapshots += 1
