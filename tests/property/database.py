"""A small simulated database: its transactions, and its true state after each of them.

Operations are numbers that Hypothesis draws; each is read against the current state, so that every
number means a valid change and a smaller one a simpler change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Row = dict[str, object]
State = tuple[dict[int, Row], ...]

TABLES = ("orders", "items", "notes")
# Few keys, so that they meet often; as text they are in another order than as numbers.
KEYS = (9, 10, 2)
# Further lives in the same tables have their own keys, so far apart.
SPAN, MAX_LIVES = 100, 64
_ALL_KEYS = tuple(key + SPAN * life for life in range(MAX_LIVES) for key in KEYS)
KINDS = ("write", "write", "write", "swell", "remove", "move", "move", "truncate")
VALUES = 4
# What a digit of an operation chooses: the first ones more often, so that changes meet.
_TABLE_CHOICES, _KEY_CHOICES = (0, 0, 1, 2), (9, 9, 10, 2)
OPERATIONS = len(KINDS) * len(_TABLE_CHOICES) * len(_KEY_CHOICES) ** 2 * VALUES
# Text from "L" on stands for a value that is stored out of line.
LARGE = (None, "small", "Large one", "Large two")


@dataclass(frozen=True, slots=True)
class Change:
    """One row change: c, u, d, t, or k for an update that changes the key."""

    kind: str
    table: int
    before: Row | None = None
    after: Row | None = None

    @property
    def keys(self) -> set[tuple[int, int]]:
        """Table and key of each row that it touches; a truncate touches all rows."""
        if self.kind == "t":
            return {(self.table, key) for key in _ALL_KEYS}
        return {(self.table, int(str(row["id"]))) for row in (self.before, self.after) if row}


@dataclass(frozen=True, slots=True)
class Transaction:
    """What one commit did; `ddl` is "truncate" for a truncate outside of transactions."""

    changes: tuple[Change, ...]
    state: State
    noted: tuple[bool, ...]  # Per table: has it the column that was added?
    ddl: str = ""

    @property
    def keys(self) -> set[tuple[int, int]]:
        return set().union(*(change.keys for change in self.changes))


class Database:
    """Executes transactions; rows are never changed in place."""

    def __init__(self, truncate: str) -> None:
        """`truncate`: "change" in a transaction, "ddl" or "text" alone, "" not at all."""
        self.truncate = truncate
        self.tables: list[dict[int, Row]] = [{} for _ in TABLES]
        self.noted = [False] * len(TABLES)

    def add_column(self, table: int) -> bool:
        """ALTER TABLE … ADD COLUMN note, null in existing rows; False where it exists."""
        added, self.noted[table] = not self.noted[table], True
        return added

    def transact(self, operations: Sequence[int], life: int = 0) -> Transaction:
        """Execute one transaction of a life; only the first one truncates, for all."""
        decoded = [_decode(number, life) for number in operations]
        kind, table, *_ = decoded[0]
        alone = kind == "truncate" and self.truncate in ("ddl", "text")
        changes = (
            [self._truncate(table)]
            if alone
            else [change for operation in decoded for change in self._execute(*operation)]
        )
        state = tuple(dict(rows) for rows in self.tables)
        ddl = "truncate" if alone else ""
        return Transaction(tuple(changes), state, tuple(self.noted), ddl)

    def _execute(self, kind: str, table: int, key: int, other: int, value: int) -> Iterator[Change]:
        rows = self.tables[table]
        stored = rows.get(key)
        if kind == "truncate" and self.truncate == "change":
            yield self._truncate(table)
        elif stored and kind in ("remove", "truncate"):
            yield Change("d", table, rows.pop(key))
        elif stored and kind == "move" and other not in rows:
            del rows[key]
            # One statement may change the key alone, or values with it.
            rows[other] = self._written(table, stored | {"id": other}, value % 2 * value)
            yield Change("k", table, stored, rows[other])
        else:
            new = stored or {"id": key, "big": LARGE[value]}
            if kind == "swell":
                new = new | {"big": LARGE[value]}
            rows[key] = self._written(table, new, value)
            yield Change("u" if stored else "c", table, stored, rows[key])

    def _written(self, table: int, row: Row, value: int) -> Row:
        note = {"note": f"note{value}"} if self.noted[table] else {}
        return row | {"v": f"v{value}", "n": value or None} | note

    def _truncate(self, table: int) -> Change:
        self.tables[table].clear()
        return Change("t", table)


def net_changes(transaction: Transaction, earlier: State) -> tuple[Change, ...]:
    """A transaction as TiCDC sees it: what it did to each row in the end, deletes first.

    A row that was deleted and inserted again is a delete and a create event of one commit TS.
    """
    if transaction.ddl:
        return transaction.changes
    deletes: list[Change] = []
    others: list[Change] = []
    rewritten = {
        key for change in transaction.changes if change.kind in "dk" for key in change.keys
    }
    for table, key in sorted(transaction.keys, key=str):
        before, after = earlier[table].get(key), transaction.state[table].get(key)
        if before and (not after or (table, key) in rewritten):
            deletes.append(Change("d", table, before))
            before = None
        if after and before != after:
            others.append(Change("u" if before else "c", table, before, after))
    return (*deletes, *others)


def each_change(state: State, transactions: Iterable[Transaction]) -> Iterator[State]:
    """The state, and what it was after each change of the transactions that followed."""
    yield state
    for change in (change for transaction in transactions for change in transaction.changes):
        tables = [dict(rows) for rows in state]
        rows = tables[change.table]
        if change.kind == "t":
            rows.clear()
        for row in filter(None, (change.before, change.after)):
            rows.pop(int(str(row["id"])), None)
        if change.after:
            rows[int(str(change.after["id"]))] = change.after
        state = tuple(tables)
        yield state


def _decode(number: int, life: int) -> tuple[str, int, int, int, int]:
    number, kind = divmod(number, len(KINDS))
    number, table = divmod(number, len(_TABLE_CHOICES))
    number, key = divmod(number, len(_KEY_CHOICES))
    value, other = divmod(number, len(_KEY_CHOICES))
    name = "remove" if life and KINDS[kind] == "truncate" else KINDS[kind]
    first, second = (_KEY_CHOICES[at] + SPAN * life for at in (key, -1 - other))
    return name, _TABLE_CHOICES[table], first, second, value
