"""How the keys that differ are brought back: read again from the source, or taken out of silver.

In: what a comparison found. Out: for each table the rows that an incremental snapshot has to read,
as conditions on its key, and the rows of silver that go.

A row that the source has is read again: an incremental snapshot sends it, and apply puts it where
the position of the source says. A row that the source does not have anymore can be sent by no
snapshot. It is deleted from silver in a cut of its own, by the steps of any other run (lease,
staging branch, validation, publication), and leaves a delete mark with its own position: an older
event that is delivered again does not bring it back, and a newer one does. It goes only if it is
still the row that was judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from lakehouse.names import TableIdentity
from lakehouse.plan.reconciling.keys import Difference, Fault
from lakehouse.plan.reconciling.tables import ComparedColumn, ComparedTable
from lakehouse.plan.signals.conditions import Condition
from lakehouse.plan.signals.sql import Kind, Value

# So many keys are named in one condition: databases bound the length of a statement.
KEYS_AT_ONCE = 500
# So many signals are sent for one table; more of them are a snapshot of the table.
MOST_SIGNALS = 100


@dataclass(frozen=True, slots=True)
class Rereading:
    """Rows that an incremental snapshot reads again.

    Attributes:
        conditions: One for each column of the key; a row is read if all hold. They hold for the
            rows of the keys that are named, and for no others.
        keys: How many keys they name.
    """

    table: TableIdentity
    title: str
    conditions: tuple[Condition, ...]
    keys: int


@dataclass(frozen=True, slots=True)
class Removal:
    """Rows that are taken out of a silver table.

    Attributes:
        table: How its rows are compared.
        rows: Digests of keys, each with where the row came from when it was judged.
    """

    table: ComparedTable
    rows: frozenset[tuple[bytes, str]]


@dataclass(frozen=True, slots=True)
class Repair:
    """What is done about a table.

    Attributes:
        refused: What cannot be done so, each as a sentence that says what to do.
    """

    rereadings: tuple[Rereading, ...] = ()
    removal: Removal | None = None
    refused: tuple[str, ...] = ()


def repair_of(table: ComparedTable, found: Iterable[Difference]) -> Repair:
    """Plan the repair of a table.

    Args:
        table: The table.
        found: What differs in it.
    """
    differences = list(found)
    if not differences:
        return Repair()
    if not table.key:
        reason = (
            f"{table.title}: {len(differences)} rows differ and it has no key by which one could "
            "be read again: expected `lakehouse rebuild`, or a primary key"
        )
        return Repair(refused=(reason,))
    extra = [each for each in differences if each.fault is Fault.EXTRA]
    rows = frozenset((each.digest, place) for each in extra for place in each.places)
    removal = Removal(table, rows) if rows else None
    again = [each.values for each in differences if each.fault is not Fault.EXTRA]
    if not again:
        return Repair(removal=removal)
    unnamed = [c.name for c in table.key_columns if c.kind not in _VALUE_KINDS]
    if unnamed:
        reason = (
            f"{table.title}: {len(again)} keys have to be read again, and a condition on "
            f"{unnamed[0]} cannot be written for sure: expected an incremental snapshot of the "
            "whole table"
        )
        return Repair(removal=removal, refused=(reason,))
    rereadings = tuple(_rereadings(table, again))
    if len(rereadings) > MOST_SIGNALS:
        reason = (
            f"{table.title}: {len(again)} keys have to be read again, by {len(rereadings)} "
            f"signals: expected at most {MOST_SIGNALS}; take an incremental snapshot of the table"
        )
        return Repair(removal=removal, refused=(reason,))
    return Repair(rereadings, removal)


def _rereadings(table: ComparedTable, keys: Iterable[tuple[object, ...]]) -> Iterator[Rereading]:
    """Keys that differ in their last column alone stand in one condition."""
    columns = table.key_columns
    groups: dict[tuple[Value, ...], dict[Value, None]] = {}
    for key in keys:
        *first, last = (_value(c, value) for c, value in zip(columns, key, strict=True))
        groups.setdefault(tuple(first), {})[last] = None
    for head, tails in sorted(groups.items(), key=lambda group: [v.text for v in group[0]]):
        values = list(tails)
        for start in range(0, len(values), KEYS_AT_ONCE):
            some = tuple(values[start : start + KEYS_AT_ONCE])
            conditions = (
                *(Condition(c.name, "=", (v,)) for c, v in zip(columns, head, strict=False)),
                Condition(columns[-1].name, "in", some),
            )
            yield Rereading(table.identity, table.title, conditions, len(some))


# Kinds whose values are written as one that a condition knows, exactly.
_VALUE_KINDS: Mapping[str, Kind] = {
    "integer": Kind.NUMBER,
    "binlog_year": Kind.NUMBER,
    "decimal": Kind.NUMBER,
    "boolean": Kind.BOOLEAN,
    "text": Kind.TEXT,
    "char": Kind.TEXT,
    "binlog_enum": Kind.TEXT,
    "network": Kind.TEXT,
    "date": Kind.DATE,
    "binlog_date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "binlog_timestamp": Kind.TIMESTAMP,
}


def _value(column: ComparedColumn, value: object) -> Value:
    kind = _VALUE_KINDS[column.kind]
    if isinstance(value, bool):
        return Value(kind, "true" if value else "false")
    if isinstance(value, datetime):
        return Value(kind, value.isoformat(sep=" "))
    if isinstance(value, date):
        return Value(kind, value.isoformat())
    return Value(kind, f"{value:f}" if isinstance(value, Decimal) else str(value))
