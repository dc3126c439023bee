"""Money that moves between tables in transactions, and a reader that counts it again and again.

Every transaction takes from one table what it puts into another, so that the sum over all of them
is the same at each moment of the source; half a transaction shows in it. Beside that it opens an
account and closes the one before it: a row that is lost, or comes back, shows in the rows.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from pyiceberg.catalog import Catalog

from lakehouse.config import Settings
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.opening import open_catalog
from tests.support.debezium import Postgres, Row, Table, column

TABLES, ACCOUNTS, EACH = ("giro", "savings", "cash"), 4, 100
# The first account that is opened for one transaction only, without money.
_GUESTS = 1000
# The reader leaves the machine to what it watches.
_PAUSE_S = 0.1
TOTAL = len(TABLES) * ACCOUNTS * EACH
# Table → account and money of each row, in order.
Rows: TypeAlias = dict[str, list[tuple[int, int]]]


class Bank:
    """A source with accounts in three tables.

    Attributes:
        guests: How many accounts were opened; the newest is not closed yet.
    """

    def __init__(self, name: str) -> None:
        self.source = Postgres(name)
        columns = [column("id", "int32", optional=False), column("money", "int64")]
        self.tables = [Table(table, columns) for table in TABLES]
        self.money = [[EACH] * ACCOUNTS for _ in TABLES]
        self.guests = 0
        for table in self.tables:
            rows = [{"id": number, "money": EACH} for number in range(ACCOUNTS)]
            self.source.snapshot(table, rows)

    def transfer(self, count: int) -> None:
        """So many transactions, each over all tables: the first pays all others."""
        for number in range(count):
            account = number % ACCOUNTS
            for place, money in enumerate(self.money):
                money[account] += 1 if place else 1 - len(self.tables)
            self.source.transact(
                *(
                    (table, "u", None, {"id": account, "money": money[account]})
                    for table, money in zip(self.tables, self.money, strict=True)
                ),
                *self._next_guest(),
            )

    def _next_guest(self) -> Iterator[tuple[Table, str, Row | None, Row | None]]:
        """An account is opened, and the one before it closed."""
        if self.guests:
            yield self._guest_table, "d", {"id": _GUESTS + self.guests, "money": 0}, None
        self.guests += 1
        yield self._guest_table, "c", None, {"id": _GUESTS + self.guests, "money": 0}

    @property
    def _guest_table(self) -> Table:
        return self.tables[self.guests % len(TABLES)]

    @property
    def rows(self) -> Rows:
        """What each table has now."""
        found = {
            table: list(enumerate(money)) for table, money in zip(TABLES, self.money, strict=True)
        }
        if self.guests:
            found[self._guest_table.name].append((_GUESTS + self.guests, 0))
        return found


def rows_at(catalog: Catalog, snapshots: Mapping[str, int | None]) -> Rows:
    """What each silver table has at a snapshot; None for that of its `main`."""
    found = {}
    for name, snapshot in snapshots.items():
        rows = catalog.load_table(name).scan(snapshot_id=snapshot).to_arrow()
        pairs = zip(rows["id"].to_pylist(), rows["money"].to_pylist(), strict=True)
        found[name.rpartition("__")[2]] = sorted(pairs)
    return found


@dataclass
class Reader:
    """Reads all tables at the newest published cut, as the README tells readers to.

    Attributes:
        looks: How often it did.
        cuts: The cuts that it saw.
        halves: Cuts whose sum is not that of any moment of the source, with what it saw.
    """

    settings: Settings
    source: str
    looks: int = 0
    cuts: set[str] = field(default_factory=set)
    halves: dict[str, Rows] = field(default_factory=dict)

    def look(self) -> None:
        """Read once."""
        cut = Ledger(self.settings).newest_cut(self.source)
        assert cut is not None
        silver = {name: cut.tables[name] for name in json.loads(cut.identities)}
        found = rows_at(open_catalog(self.settings), silver)
        self.looks += 1
        self.cuts.add(cut.cut_id)
        if sum(money for rows in found.values() for _, money in rows) != TOTAL:
            self.halves[cut.cut_id] = found

    @contextmanager
    def polling(self) -> Iterator[None]:
        """Look again and again, in a thread; what fails in it is raised at the end."""
        done, failures = threading.Event(), list[Exception]()

        def poll() -> None:
            try:
                while not done.wait(_PAUSE_S):
                    self.look()
            except Exception as failure:  # noqa: BLE001 - raised where the test sees it
                failures.append(failure)

        thread = threading.Thread(target=poll)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
        if failures:
            raise failures[0]
