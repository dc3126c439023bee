"""The INSERT into the signal table: with parameters for a driver, or whole for a person to run."""

from __future__ import annotations

from lakehouse.connectors import CONNECTORS
from lakehouse.plan.signals.record import Signal
from lakehouse.plan.signals.sql import Kind, Value, literal, quoted_table


def insert_with_parameters(table: tuple[str, ...], connector: str) -> str:
    """The statement with `%s` for id, type and data (PEP 249, `format`)."""
    return f"{_into(table, connector).replace('%', '%%')} VALUES (%s, %s, %s)"


def insert_statement(table: tuple[str, ...], connector: str, signal: Signal) -> str:
    """The statement with its values."""
    rules = CONNECTORS[connector].sql
    values = (signal.id, signal.type, signal.data)
    written = ", ".join(literal(Value(Kind.TEXT, value), rules) for value in values)
    return f"{_into(table, connector)} VALUES ({written})"


def _into(table: tuple[str, ...], connector: str) -> str:
    """A database that only signals name (Oracle) is left out."""
    rules = CONNECTORS[connector]
    parts = table[-len(rules.identity_parts) :]
    return f"INSERT INTO {quoted_table(parts, rules.sql)} (id, type, data)"
