"""Changes of single rows: the statements, and what they do to the generator's own account."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from tests.soak.tables import Table

_NULL_SHARE = 0.15


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement and its bound parameters."""

    sql: str
    values: tuple[object, ...] = ()


@dataclass(slots=True)
class Open:
    """A transaction under way: its statements, and how to forget it.

    Attributes:
        touched: Rows that it has locked.
    """

    statements: list[Statement] = field(default_factory=list)
    undo: list[Callable[[], object]] = field(default_factory=list)
    changes: int = 0
    touched: list[tuple[Table, int]] = field(default_factory=list)

    def run(self, sql: str, *values: object) -> None:
        self.statements.append(Statement(sql, values))

    def take_back(self) -> None:
        """Let everything be as it was before."""
        for undo in reversed(self.undo):
            undo()
        self.undo.clear()

    def take(self) -> tuple[Statement, ...]:
        taken = tuple(self.statements)
        self.statements.clear()
        return taken


@dataclass(frozen=True, slots=True)
class Rows:
    """Draws changes of rows, and adds them to a transaction."""

    random: Random

    def change(self, opened: Open, table: Table) -> None:
        number = self.any_of(table)
        kind = self.random.random()
        if number is None or kind < 0.35:
            self.insert(opened, table)
        elif kind < 0.75:
            self.update(opened, table, number)
        elif kind < 0.85:
            self._move(opened, table, number)
        else:
            self.delete(opened, table, number)

    def any_of(self, table: Table) -> int | None:
        for _ in range(8):
            if not len(table.live):
                return None
            number = self.random.choice(table.live.numbers)
            if number not in table.locked:
                return number
        return None

    def _new(self, table: Table) -> int:
        """A row's number: mostly new, at times one that was there before."""
        if table.gone and self.random.random() < 0.3:
            place = self.random.randrange(len(table.gone))
            number = table.gone[place]
            if number not in table.locked:
                table.gone[place] = table.gone[-1]
                table.gone.pop()
                return number
        table.made += 1
        return table.made

    def insert(self, opened: Open, table: Table) -> int:
        number = self._new(table)
        self.insert_into(opened, table, number)
        return number

    def insert_into(
        self, opened: Open, table: Table, number: int, given: tuple[object, ...] | None = None
    ) -> None:
        names = [
            name
            for name in table.columns
            if name not in table.defaulted or self.random.random() < 0.5
        ]
        keys = [name for name, _, _ in table.key]
        places = ["%s"] * len(keys) + [table.columns[name].bound for name in names]
        values = given or tuple(self.value(table, name) for name in names)
        opened.run(
            f"INSERT INTO {table.name} ({', '.join(keys + names)}) VALUES ({', '.join(places)})",
            *table.key_values(number),
            *values,
        )
        self._born(opened, table, number)
        opened.changes += 1

    def update(self, opened: Open, table: Table, number: int) -> None:
        names = self.random.sample(
            list(table.columns), self.random.randrange(1, min(4, len(table.columns)) + 1)
        )
        sets = ", ".join(f"{name} = {table.columns[name].bound}" for name in names)
        opened.run(
            f"UPDATE {table.name} SET {sets} WHERE {table.where}",
            *(self.value(table, name) for name in names),
            *table.key_values(number),
        )
        opened.touched.append((table, number))
        opened.changes += 1

    def _move(self, opened: Open, table: Table, number: int) -> None:
        """Give the row another key."""
        target = self._new(table)
        sets = ", ".join(f"{name} = %s" for name, _, _ in table.key)
        opened.run(
            f"UPDATE {table.name} SET {sets} WHERE {table.where}",
            *table.key_values(target),
            *table.key_values(number),
        )
        self._gone(opened, table, number)
        self._born(opened, table, target)
        opened.changes += 1

    def delete(self, opened: Open, table: Table, number: int) -> None:
        opened.run(f"DELETE FROM {table.name} WHERE {table.where}", *table.key_values(number))
        self._gone(opened, table, number)
        opened.changes += 1

    def _born(self, opened: Open, table: Table, number: int) -> None:
        table.live.add(number)
        if number in table.gone:
            table.gone.remove(number)
        opened.touched.append((table, number))
        opened.undo.append(partial(table.gone.append, number))
        opened.undo.append(partial(table.live.remove, number))

    def _gone(self, opened: Open, table: Table, number: int) -> None:
        table.live.remove(number)
        table.gone.append(number)
        opened.touched.append((table, number))
        opened.undo.append(partial(table.live.add, number))
        opened.undo.append(partial(table.gone.remove, number))

    def value(self, table: Table, name: str) -> object:
        if name in table.defaulted or self.random.random() >= _NULL_SHARE:
            return table.columns[name].draw(self.random)
        return None
