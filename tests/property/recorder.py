"""What a connector sends for each step of its source's life, as units that it can start again from.

A unit is one transaction with what comes between it and the one before: a chunk of an incremental
snapshot, a schema change. The first unit is the source snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tests.property.database import Database, State, Transaction, net_changes
from tests.property.events import Source
from tests.property.logs import Fields, Knobs, Placed
from tests.property.wire import Draft

FEATURES = ("", "", "column", "chunk", "chunk", "restart", "restart", "restart")
FLAGS = 16
NUMBERS = 64
MODIFIERS = len(FEATURES) * FLAGS * NUMBERS


@dataclass(frozen=True, slots=True)
class Modifier:
    """What a step adds to its transaction, from one drawn number; 0 adds nothing."""

    feature: str
    flags: int
    number: int  # What the feature means by it.

    @classmethod
    def of(cls, drawn: int) -> Modifier:
        """The digits of a drawn number."""
        rest, feature = divmod(drawn, len(FEATURES))
        number, flags = divmod(rest, FLAGS)
        return cls(FEATURES[feature], flags, number)

    def before(self, transaction: Transaction) -> int:
        """How many changes of the transaction come before the chunk; mostly none."""
        if self.feature != "chunk" or transaction.ddl:
            return 0
        return min(max(0, self.number % 4 - 1), len(transaction.changes))

    @property
    def moves(self) -> bool:
        """Whether another server takes over before the transaction."""
        return not self.feature and self.number >= NUMBERS - 8


@dataclass(frozen=True, slots=True)
class Restart:
    """After some drafts of a unit the connector starts again from an earlier unit."""

    sent: int
    back: int
    lost: int | None  # The partition whose messages of the unit never reached Kafka.


class Recorder:
    """Builds the units; `bare`: older versions' fields, and where END comes late, no last one.

    Several lives may take turns in one database, each with its own keys.
    """

    def __init__(self, source: Source, *, bare: bool) -> None:
        self.source, self.dialect = source, source.dialect
        self.database = Database(self.dialect.truncate)
        self.lives: list[int] = [-1]  # Whose step each unit is; the source snapshot is nobody's.
        self.log = self.dialect.log(bare=bare)
        self.units: list[list[Draft]] = []
        self.restarts: dict[int, Restart] = {}  # By the unit that is not sent whole.
        self.states: list[State] = []
        self.transactions: list[Transaction] = []
        self.end: Draft | None = None  # Of the last transaction, not sent yet.
        self.stand: Fields = {}
        self.framed = source.metadata
        self.shared = False
        self.moved = False

    def snapshot(self, earlier: Sequence[tuple[int, Sequence[int]]], *, rows: bool) -> None:
        """The source snapshot, after transactions that nobody streamed; TiCDC has none.

        Without rows (snapshot.mode no_data) they come with the chunks of `read_all`.
        """
        for life, operations in earlier:
            self.log.place(self.database.transact(operations, life), Knobs())
        state = tuple(dict(rows) for rows in self.database.tables)
        self.states.append(state)
        self.units.append([])
        if self.dialect.metadata:
            self.stand = self.log.snapshot()
            noted = tuple(self.database.noted)
            self.units[0] += self.source.tables(noted, self.stand)
            self.units[0] += self.source.snapshot(state, noted, self.stand) if rows else ()

    def step(
        self, drawn: int, operations: Sequence[int], life: int = 0, *, restarts: bool = True
    ) -> None:
        """One transaction of a life, with what its modifier adds."""
        modifier = Modifier.of(drawn)
        self.lives.append(life)
        table = modifier.number % len(self.database.tables)
        altered = modifier.feature == "column" and self.database.add_column(table)
        transaction = self._transact(operations)
        knobs = self._knobs(transaction, modifier.flags, apart=not altered)
        moved = modifier.moves and self.log.moves
        knobs, self.moved = replace(knobs, moved=moved), self.moved or moved
        placed = self.log.place(transaction, knobs)
        drafts: list[Draft] = []
        if altered and self.dialect.ddl and placed.fields:
            marker, fields = self.dialect.marker, placed.fields[0]
            drafts += self.source.schema_change("ALTER", table, marker, fields, noted=True)
        drafts += self._unit(transaction, placed, modifier)
        self.units.append(drafts)
        if restarts and modifier.feature == "restart":
            back, sent = divmod(modifier.number, 8)
            own = [unit for unit, of in enumerate(self.lives) if of == life]
            # Another server's source snapshot would have its positions, and what there is then.
            is_first = back == 7 and not self.moved
            first, lost = 0 if is_first else own[-1 - min(back, len(own) - 1)], modifier.flags // 4
            self.restarts[own[-1]] = Restart(sent, first, lost if lost < 3 else None)
        self.states.append(transaction.state)
        self.transactions.append(transaction)
        self.stand = placed.fields[-1] if placed.fields else {}

    def read_all(self) -> None:
        """An incremental snapshot of all tables at the end, in a quiet database."""
        self.close()
        rows = [(t, row) for t, found in enumerate(self.states[-1]) for row in found.values()]
        self.units.append(
            [
                self.source.read(
                    table,
                    row,
                    "incremental",
                    self.log.window(self.stand, None, index),
                    noted=self.database.noted[table],
                )
                for index, (table, row) in enumerate(rows)
            ]
        )

    def close(self) -> None:
        """The END that the next transaction would bring."""
        if self.end:
            self.units.append([self.end])
            self.end = None

    def _transact(self, operations: Sequence[int]) -> Transaction:
        transaction = self.database.transact(operations, self.lives[-1])
        if self.dialect.metadata:
            return transaction
        return replace(transaction, changes=net_changes(transaction, self.states[-1]))

    def _knobs(self, transaction: Transaction, flags: int, *, apart: bool) -> Knobs:
        """Only changes of other rows can overlap: rows and truncated tables are locked."""
        last = self.transactions[-1] if self.transactions else None
        truncates = any(change.kind == "t" for change in transaction.changes)
        apart = apart and not truncates and not (last and transaction.keys & last.keys)
        self.shared = bool(flags & 4 and apart and last and not last.ddl and not self.shared)
        return Knobs(bool(flags & 1 and apart), bool(flags & 2), self.shared, bool(flags & 8))

    def _unit(
        self, transaction: Transaction, placed: Placed, modifier: Modifier
    ) -> Iterator[Draft]:
        framed = self.source.metadata and not transaction.ddl
        number, at = len(self.transactions), modifier.before(transaction)
        data = self.source.data(transaction, placed, number)
        chunk = self._chunk(transaction, placed, modifier)
        if at == 0:
            yield from chunk
        if self.end:
            yield self.end
            self.end = None
        begin, end = self.source.bounds(transaction, placed, number)
        if framed:
            yield begin
        for index, drafts in enumerate(data, 1):
            yield from drafts
            if index == at:
                yield from chunk
        if framed and self.dialect.late_end:
            self.end = end
        elif framed:
            yield end
        self.framed = self.framed and framed

    def _chunk(self, transaction: Transaction, placed: Placed, modifier: Modifier) -> list[Draft]:
        """Read events of one chunk; rows that were changed in its window have none."""
        if modifier.feature != "chunk" or not self.dialect.metadata:
            return []
        at = modifier.before(transaction)
        window, other = divmod(modifier.number // 4, 4)
        # Mostly a table that is changed right behind the chunk.
        table = other - 1 if other else transaction.changes[-1].table
        inside = self.transactions[len(self.transactions) - window % 3 :]
        changes = [change for found in inside for change in found.changes]
        changes += transaction.changes[:at]
        changed = set().union(*(change.keys for change in changes))
        stand = placed.fields[at - 1] if at else self.stand
        noted = (transaction if at or not self.transactions else self.transactions[-1]).noted
        rows = [row for key, row in self.states[-1][table].items() if (table, key) not in changed]
        fields = [self.log.window(stand, placed.fields[0], index) for index, _ in enumerate(rows)]
        return [
            self.source.read(table, row, "incremental", stood, noted=noted[table])
            for row, stood in zip(rows, fields, strict=True)
        ]
