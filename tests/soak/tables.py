"""The generated tables: every type of a database, keys of every kind, and what is live in them.

In: the types of an engine. Out: at least twelve tables with the SQL that makes them. Two are
accounts between which amounts move in one transaction, so that every cut has one sum; one has no
key. Tables that evolve get DDL and truncates; the others are read again by incremental snapshots,
which bear neither (https://debezium.io/documentation/reference/stable/connectors/postgresql.html
says so of DDL; a chunk that was read before a truncate arrives behind it).
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random

from infra.sources import Engine
from tests.soak import binlog_types, postgresql_types
from tests.soak.columns import ColumnType, decimals, singles, texts, whole

# What the name of every generated table begins with.
GENERATED = "soak_"
ACCOUNTS = ("soak_cash", "soak_bank")
ACCOUNT_ROWS = 40
OPENING_BALANCE = 1000
BAG = "soak_bag"
TYPED_TABLES = 10
EVOLVING = 4
TYPES = {
    Engine.POSTGRESQL: postgresql_types.TYPES,
    Engine.MYSQL: binlog_types.TYPES,
    Engine.MARIADB: binlog_types.TYPES,
}
_BEGIN = datetime(2000, 1, 1)  # noqa: DTZ001
_ODD = 6_364_136_223_846_793_005

KeyMaker = Callable[[int], object]
# Columns of a key: name, type, and its value for the n-th row; no two rows share all of them.
KeyColumns = tuple[tuple[str, str, KeyMaker], ...]


@dataclass(slots=True)
class Live:
    """The numbers of the rows that are in a table, so that any can be drawn at once."""

    numbers: list[int] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)

    def add(self, number: int) -> None:
        self._places[number] = len(self.numbers)
        self.numbers.append(number)

    def remove(self, number: int) -> None:
        place, last = self._places.pop(number), self.numbers.pop()
        if last != number:
            self.numbers[place] = last
            self._places[last] = place

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(slots=True)
class Table:
    """One generated table and what the generator knows of it.

    Attributes:
        columns: The columns beside the key.
        defaulted: Those that an insert may leave out.
        live: Its rows' numbers; `gone` those that were deleted, for keys that come back.
        locked: Rows of a transaction that is still open.
        bag: Rows by tag, where there is no key.
    """

    name: str
    key: KeyColumns
    columns: dict[str, ColumnType]
    evolves: bool = False
    replica_identity_full: bool = False
    defaulted: set[str] = field(default_factory=set)
    live: Live = field(default_factory=Live)
    gone: list[int] = field(default_factory=list)
    locked: set[int] = field(default_factory=set)
    bag: Counter[int] = field(default_factory=Counter)
    made: int = 0
    widened: set[str] = field(default_factory=set)

    def key_values(self, number: int) -> tuple[object, ...]:
        return tuple(make(number) for _, _, make in self.key)

    @property
    def where(self) -> str:
        return " AND ".join(f"{name} = %s" for name, _, _ in self.key)

    def create_sql(self, engine: Engine) -> list[str]:
        parts = [f"{name} {sql} NOT NULL" for name, sql, _ in self.key]
        parts += [f"{name} {kind.sql} NULL" for name, kind in self.columns.items()]
        if self.key:
            parts.append(f"PRIMARY KEY ({', '.join(name for name, _, _ in self.key)})")
        statements = [f"CREATE TABLE {self.name} ({', '.join(parts)})"]
        if engine is Engine.POSTGRESQL and self.replica_identity_full:
            statements.append(f"ALTER TABLE {self.name} REPLICA IDENTITY FULL")
        return statements


def make_tables(engine: Engine) -> dict[str, Table]:
    """All tables of one database, by name; every type is a column of one of them."""
    keys = _POSTGRESQL_KEYS if engine is Engine.POSTGRESQL else _BINLOG_KEYS
    types = TYPES[engine]
    tables = []
    for number in range(TYPED_TABLES):
        evolves = number < EVOLVING
        mine = types[number::TYPED_TABLES]
        columns = {f"c{index}": kind for index, kind in enumerate(mine, 1)}
        columns |= widening_columns(engine) if evolves else {}
        name = f"soak_t{number}"
        tables.append(
            Table(name, keys[number], columns, evolves, replica_identity_full=number == EVOLVING)
        )
    identity = (("id", "int", lambda n: n),)
    balance = {"balance": ColumnType(decimal_of(engine, 14, 2), decimals(14, 2))}
    tables += [Table(name, identity, dict(balance)) for name in ACCOUNTS]
    tables.append(Table(BAG, (), _bag_columns(engine), replica_identity_full=True))
    return {table.name: table for table in tables}


def decimal_of(engine: Engine, precision: int, scale: int) -> str:
    name = "numeric" if engine is Engine.POSTGRESQL else "decimal"
    return f"{name}({precision},{scale})"


def widening_columns(engine: Engine) -> dict[str, ColumnType]:
    """Columns whose type is widened once."""
    single = "real" if engine is Engine.POSTGRESQL else "float"
    draw_single = singles if engine is Engine.POSTGRESQL else _halves
    return {
        "w_int": ColumnType("int", whole(-(2**31), 2**31 - 1)),
        "w_decimal": ColumnType(decimal_of(engine, 8, 2), decimals(8, 2)),
        "w_text": ColumnType("varchar(12)", texts(12)),
        "w_single": ColumnType(single, draw_single),
    }


def widened(engine: Engine) -> dict[str, ColumnType]:
    """What the columns of `widening_columns` become."""
    double = "double precision" if engine is Engine.POSTGRESQL else "double"
    return {
        "w_int": ColumnType("bigint", whole(-(2**63), 2**63 - 1)),
        "w_decimal": ColumnType(decimal_of(engine, 14, 2), decimals(14, 2)),
        "w_text": ColumnType("varchar(200)", texts(200)),
        "w_single": ColumnType(double, _halves),
    }


def _halves(random: Random) -> float:
    return random.randrange(-100_000, 100_000) / 2


def _bag_columns(engine: Engine) -> dict[str, ColumnType]:
    moment = "timestamp(6)" if engine is Engine.POSTGRESQL else "datetime(6)"
    return {
        "tag": ColumnType("int", whole(0, 10**6)),
        "word": ColumnType("varchar(20)", texts(20)),
        "amount": ColumnType(decimal_of(engine, 10, 2), decimals(10, 2)),
        "at": ColumnType(moment, lambda random: _moment(random.randrange(10**9))),
    }


def _moment(number: int) -> datetime:
    return _BEGIN + timedelta(microseconds=number * 1_000_003)


def _scattered(number: int) -> int:
    """Another number of 63 bits for each number."""
    return number * _ODD % 2**63


def _word(number: int) -> str:
    return f"k{number} é{'x' * (number % 40)}"


def _uuid(number: int) -> str:
    return str(uuid.UUID(int=_scattered(number) << 60 | number))


def _day(number: int) -> date:
    return date(2000, 1, 1) + timedelta(days=number // 100)


def _ends_in_zeros(number: int) -> bytes:
    return number.to_bytes(8, "little") + bytes(8)


def _some_bytes(number: int) -> bytes:
    return number.to_bytes(4, "big") + b"\xff\x00" * (number % 4)


_HUNDREDTH = ("part", "smallint", lambda n: n % 100)
_NAMED = (("id", "int", lambda n: n // 7 - 50), ("name", "varchar(20)", lambda n: f"p{n % 7}é"))
_MOODS = ("sad", "ok", "größer")
_POSTGRESQL_KEYS: tuple[KeyColumns, ...] = (
    (("id", "int", lambda n: n - 50),),
    _NAMED,
    (("id", "uuid", _uuid),),
    (("code", "text", _word),),
    (("id", "bigint", _scattered),),
    (("hash", "bytea", _some_bytes),),
    (("day", "date", _day), _HUNDREDTH),
    (("price", "numeric(14,4)", lambda n: Decimal(n) / 10_000),),
    (("at", "timestamptz", lambda n: _moment(n).replace(tzinfo=UTC)),),
    (("mood", "soak_mood", lambda n: _MOODS[n % 3]), ("id", "int", lambda n: n // 3)),
)
_BINLOG_KEYS: tuple[KeyColumns, ...] = (
    (("id", "int", lambda n: n - 50),),
    _NAMED,
    (("id", "char(36)", _uuid),),
    (("code", "varchar(80) character set utf8mb4 collate utf8mb4_bin", _word),),
    (("id", "bigint unsigned", lambda n: 2**64 - 1 - n),),
    (("hash", "varbinary(12)", _some_bytes),),
    (("day", "date", _day), _HUNDREDTH),
    (("price", "decimal(14,4)", lambda n: Decimal(n) / 10_000),),
    (("at", "datetime(6)", _moment),),
    (("hash", "binary(16)", _ends_in_zeros), ("id", "int", lambda n: n % 3)),
)
