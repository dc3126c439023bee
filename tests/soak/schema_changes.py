"""Schema changes of generated tables: columns that come, go, get wider and get other names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from infra.sources import Engine
from tests.soak.columns import ColumnType, choice, texts, whole
from tests.soak.tables import TYPES, Table, widened

# A column that was dropped stays in silver, so that a table only grows.
_MOST_ADDED = 8


@dataclass(slots=True)
class SchemaChanges:
    """Draws schema changes, and brings the tables' descriptions up to date.

    Attributes:
        dropped: Columns that silver keeps, by table.
        counts: How many changes of each kind were drawn.
    """

    engine: Engine
    random: Random
    dropped: dict[str, set[str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    _added: dict[str, int] = field(default_factory=dict)

    def draw(self, table: Table) -> list[str]:
        """The SQL of one change; nothing when the table has had enough of them."""
        kinds: list[Callable[[Table], str | None]] = [self._add, self._add_default, self._drop]
        kinds += [self._widen]
        if self.engine is not Engine.POSTGRESQL:
            kinds.append(self._rename)
        kind = self.random.choice(kinds)
        sql = kind(table)
        if sql is None:
            return []
        name = kind.__name__.strip("_")
        self.counts[name] = self.counts.get(name, 0) + 1
        return [f"ALTER TABLE {table.name} {sql}"]

    def _new_name(self, table: Table) -> str | None:
        number = self._added.get(table.name, 0) + 1
        if number > _MOST_ADDED:
            return None
        self._added[table.name] = number
        return f"x{number}"

    def _add(self, table: Table) -> str | None:
        name = self._new_name(table)
        if name is None:
            return None
        kind = self.random.choice(TYPES[self.engine])
        table.columns[name] = kind
        return f"ADD COLUMN {name} {kind.sql} NULL"

    def _add_default(self, table: Table) -> str | None:
        name = self._new_name(table)
        if name is None:
            return None
        kind, default = self.random.choice(_DEFAULTS)
        table.columns[name] = kind
        table.defaulted.add(name)
        optional = self.random.choice(("NULL", "NOT NULL"))
        return f"ADD COLUMN {name} {kind.sql} {optional} DEFAULT {default}"

    def _drop(self, table: Table) -> str | None:
        names = [name for name in table.columns if name.startswith("x")]
        if not names:
            return None
        name = self.random.choice(names)
        del table.columns[name]
        table.defaulted.discard(name)
        self.dropped.setdefault(table.name, set()).add(name)
        return f"DROP COLUMN {name}"

    def _rename(self, table: Table) -> str | None:
        name, new = self.random.choice(sorted(table.columns)), self._new_name(table)
        if new is None or name.startswith("w_"):
            return None
        table.columns[new] = table.columns.pop(name)
        if name in table.defaulted:
            table.defaulted.remove(name)
            table.defaulted.add(new)
        return f"RENAME COLUMN {name} TO {new}"

    def _widen(self, table: Table) -> str | None:
        wider = widened(self.engine)
        names = sorted(wider.keys() - table.widened)
        if not names:
            return None
        name = self.random.choice(names)
        table.widened.add(name)
        table.columns[name] = wider[name]
        if self.engine is Engine.POSTGRESQL:
            return f"ALTER COLUMN {name} TYPE {wider[name].sql}"
        return f"MODIFY COLUMN {name} {wider[name].sql} NULL"


_DEFAULTS: tuple[tuple[ColumnType, str], ...] = (
    (ColumnType("int", whole(-(2**31), 2**31 - 1)), "7"),
    (ColumnType("varchar(20)", texts(20)), "'grey'"),
    (ColumnType("decimal(8,2)", choice("1.25", "-99.50")), "1.50"),
    (ColumnType("bigint", whole(-(2**63), 2**63 - 1)), "-1"),
    (ColumnType("date", choice("2021-03-04", "1999-12-31")), "'2020-02-29'"),
)
