"""A random history of one database: transactions as steps, the same for the same seed.

In: engine, seed. Out: one `Step` after the other, for two sessions: session 1 holds transactions
open while session 0 commits others, so that transactions interleave in the log. The generator
keeps what is live, so that every statement finds its row; it never asks the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from infra.sources import Engine
from tests.soak.rows import Open, Rows, Statement
from tests.soak.schema_changes import SchemaChanges
from tests.soak.tables import (
    ACCOUNT_ROWS,
    ACCOUNTS,
    BAG,
    OPENING_BALANCE,
    Table,
    make_tables,
)

End = Literal["commit", "rollback"] | None
_ROWS_BEFORE = 30


@dataclass(frozen=True, slots=True)
class Step:
    """Statements of one session.

    Attributes:
        end: How the transaction ends with them; None leaves it open.
        changes: Rows changed by the transaction that ends here, 0 for one that is rolled back.
    """

    kind: str
    statements: tuple[Statement, ...]
    end: End = "commit"
    changes: int = 0
    session: int = 0


@dataclass(slots=True)
class Workload:
    """The generator of one database's history."""

    engine: Engine
    seed: int
    tables: dict[str, Table] = field(init=False)
    random: Random = field(init=False)
    rows: Rows = field(init=False)
    schema_changes: SchemaChanges = field(init=False)
    _held: Open | None = None

    def __post_init__(self) -> None:
        self.tables = make_tables(self.engine)
        self.random = Random(f"{self.seed} {self.engine}")
        self.rows = Rows(self.random)
        self.schema_changes = SchemaChanges(self.engine, self.random)

    def opening(self) -> Iterator[Step]:
        """The accounts with their balances, and some rows in every table."""
        opened = Open()
        for name in ACCOUNTS:
            for number in range(ACCOUNT_ROWS):
                self.rows.insert_into(opened, self.tables[name], number, (OPENING_BALANCE,))
        yield self._ended("accounts", opened)
        for table in self._keyed():
            opened = Open()
            for _ in range(_ROWS_BEFORE):
                self.rows.insert(opened, table)
            yield self._ended("rows", opened)

    def steps(self) -> Iterator[Step]:
        """Transactions without end; the tables are made and filled."""
        kinds: dict[Callable[[], Step], int] = {
            self._mixed: 150,
            self._several_of_one_key: 30,
            self._transfer: 42,
            self._bag: 24,
            self._no_change: 9,
            self._rolled_back: 12,
            self._with_savepoint: 12,
            self._held_step: 42,
            self._schema_change: 3,
            self._truncate: 1,
        }
        while True:
            (draw,) = self.random.choices(list(kinds), list(kinds.values()))
            yield draw()

    def ending(self) -> Iterator[Step]:
        """The end of a transaction that is open."""
        if self._held is not None:
            yield self._end_held()

    def snapshot_tables(self) -> list[str]:
        """One to three tables that an incremental snapshot can read."""
        names = sorted(table.name for table in self._stable())
        return self.random.sample(names, self.random.randrange(1, 4))

    def closing(self) -> Iterator[Step]:
        """One change in each table."""
        for table in self._keyed():
            opened = Open()
            self.rows.insert(opened, table)
            yield self._ended("closing", opened)

    def _keyed(self) -> list[Table]:
        return [table for name, table in self.tables.items() if name not in (*ACCOUNTS, BAG)]

    def _stable(self) -> list[Table]:
        return [table for table in self._keyed() if not table.evolves]

    # Transactions

    def _mixed(self) -> Step:
        opened = Open()
        for _ in range(self.random.randrange(1, 6)):
            self.rows.change(opened, self.random.choice(self._keyed()))
        return self._ended("mixed", opened)

    def _several_of_one_key(self) -> Step:
        opened, table = Open(), self.random.choice(self._keyed())
        number = self.rows.insert(opened, table)
        for _ in range(self.random.randrange(1, 4)):
            self.rows.update(opened, table, number)
        if self.random.random() < 0.5:
            self.rows.delete(opened, table, number)
            if self.random.random() < 0.5:
                self.rows.insert_into(opened, table, number)
        return self._ended("one key", opened)

    def _transfer(self) -> Step:
        opened = Open()
        for _ in range(self.random.randrange(1, 3)):
            amount = self.random.randrange(1, 100)
            for name, sign in zip(ACCOUNTS, "-+", strict=True):
                row = self.random.randrange(ACCOUNT_ROWS)
                opened.run(f"UPDATE {name} SET balance = balance {sign} {amount} WHERE id = {row}")
                opened.changes += 1
        return self._ended("transfer", opened)

    def _bag(self) -> Step:
        opened, table = Open(), self.tables[BAG]
        tags = sorted(table.bag)
        names = ", ".join(table.columns)
        if not tags or self.random.random() < 0.6:
            tag = self.random.choice(tags) if tags and self.random.random() < 0.3 else table.made
            table.made += 1
            values = (tag, *(self.rows.value(table, name) for name in list(table.columns)[1:]))
            copies = self.random.choice((1, 1, 2, 3))
            for _ in range(copies):
                opened.run(f"INSERT INTO {BAG} ({names}) VALUES (%s, %s, %s, %s)", *values)
            table.bag[tag] += copies
            opened.changes = copies
        else:
            tag = self.random.choice(tags)
            opened.changes = table.bag[tag]
            if self.random.random() < 0.5:
                word = table.columns["word"].draw(self.random)
                opened.run(f"UPDATE {BAG} SET word = %s WHERE tag = %s", word, tag)
            else:
                opened.run(f"DELETE FROM {BAG} WHERE tag = %s", tag)
                del table.bag[tag]
        return self._ended("bag", opened)

    def _no_change(self) -> Step:
        opened, table = Open(), self.random.choice(self._keyed())
        number = self.rows.any_of(table)
        if number is not None:
            name = next(iter(table.columns))
            opened.run(
                f"UPDATE {table.name} SET {name} = {name} WHERE {table.where}",
                *table.key_values(number),
            )
        return self._ended("no change", opened)

    def _rolled_back(self) -> Step:
        opened = Open()
        for _ in range(self.random.randrange(1, 4)):
            self.rows.change(opened, self.random.choice(self._keyed()))
        return self._undone("rolled back", opened)

    def _with_savepoint(self) -> Step:
        opened = Open()
        self.rows.change(opened, self.random.choice(self._keyed()))
        opened.run("SAVEPOINT here")
        inner = Open(opened.statements)
        for _ in range(self.random.randrange(1, 4)):
            self.rows.change(inner, self.random.choice(self._keyed()))
        opened.run("ROLLBACK TO SAVEPOINT here")
        inner.take_back()
        self.rows.change(opened, self.random.choice(self._keyed()))
        return self._ended("savepoint", opened)

    def _held_step(self) -> Step:
        """Session 1 begins, goes on with or ends a transaction, over stable tables only."""
        if self._held is not None and self.random.random() < 0.4:
            return self._end_held()
        held = self._held or Open()
        self._held = held
        for _ in range(self.random.randrange(1, 3)):
            self.rows.change(held, self.random.choice(self._stable()))
        for table, number in held.touched:
            table.locked.add(number)
        return Step("held", held.take(), None, 0, session=1)

    def _end_held(self) -> Step:
        held, self._held = self._held, None
        assert held is not None
        for table, number in held.touched:
            table.locked.discard(number)
        if self.random.random() < 0.2:
            held.take_back()
            return Step("held, rolled back", held.take(), "rollback", 0, session=1)
        return Step("held", held.take(), "commit", held.changes, session=1)

    def _schema_change(self) -> Step:
        evolving = [table for table in self._keyed() if table.evolves]
        table = self.random.choice(evolving)
        opened = Open()
        for sql in self.schema_changes.draw(table):
            opened.run(sql)
        number = self.rows.any_of(table)
        if number is not None:
            self.rows.update(opened, table, number)
        self.rows.insert(opened, table)
        return self._ended("schema change", opened)

    def _truncate(self) -> Step:
        opened = Open()
        table = self.random.choice([table for table in self._keyed() if table.evolves])
        self.rows.insert(opened, table)
        opened.run(f"TRUNCATE TABLE {table.name}")
        opened.changes += 1
        for number in list(table.live.numbers):
            table.live.remove(number)
            table.gone.append(number)
        for _ in range(self.random.randrange(4)):
            self.rows.insert(opened, table)
        return self._ended("truncate", opened)

    def _ended(self, kind: str, opened: Open) -> Step:
        return Step(kind, opened.take(), "commit", opened.changes)

    def _undone(self, kind: str, opened: Open) -> Step:
        opened.take_back()
        return Step(kind, opened.take(), "rollback", 0)
