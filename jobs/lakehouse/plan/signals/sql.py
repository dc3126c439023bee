"""Names and values as SQL text of one database, quoted so that they stay names and values.

In: a connector's `SqlText`. Out: text that a connector puts into its own statements unseen, so what
cannot be quoted for sure is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from lakehouse.connectors.sql_text import Backslash, SqlText
from lakehouse.errors import SignalRefused

NUMBER = r"[+-]?\d{1,100}(?:\.\d{1,100})?(?:[eE][+-]?\d{1,3})?"


class Kind(StrEnum):
    """What a value is."""

    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a condition, its text without quotes."""

    kind: Kind
    text: str


def quoted_name(name: str, sql: SqlText) -> str:
    """A name of a table or a column.

    Raises:
        SignalRefused: The database has no way to write it.
    """
    _checked(name)
    if not name or (sql.closing in name and not sql.any_name):
        raise SignalRefused(
            f"name {name!r}: expected one that is not empty and has no {sql.closing}, which this "
            "database cannot write in a name"
        )
    return sql.opening + name.replace(sql.closing, sql.closing * 2) + sql.closing


def quoted_table(parts: Iterable[str], sql: SqlText) -> str:
    """The parts of a table's name, each quoted."""
    return ".".join(quoted_name(part, sql) for part in parts)


def literal(value: Value, sql: SqlText) -> str:
    """A value; numbers, dates and times are checked before they become SQL.

    Raises:
        SignalRefused: It is not what it says, or the database has no way to write it.
    """
    if value.kind is Kind.TEXT:
        return _text(value.text, sql)
    if value.kind is Kind.BOOLEAN:
        if not sql.boolean:
            raise SignalRefused(f"value {value.text}: expected a number: this database has no such")
        return value.text
    return _plain(value, sql)


def _plain(value: Value, sql: SqlText) -> str:
    try:
        if value.kind is Kind.DATE:
            return sql.date.format(date.fromisoformat(value.text).isoformat())
        if value.kind is Kind.TIMESTAMP:
            return sql.timestamp.format(_moment(value.text).isoformat(sep=" "))
        return _number(value.text)
    except ValueError as broken:
        raise SignalRefused(f"{value.kind} {value.text!r}: {broken}") from None


def _number(text: str) -> str:
    if re.fullmatch(NUMBER, text, re.ASCII) is None:
        raise ValueError("expected a number such as 12 or -0.5")
    return text


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is not None:
        raise ValueError("expected no zone; write it as text in quotes instead")
    return found


def _text(text: str, sql: SqlText) -> str:
    _checked(text)
    doubled = text.replace("'", "''")
    if "\\" not in text or sql.backslash is Backslash.PLAIN:
        return sql.text.replace("{}", doubled)
    if sql.backslash is Backslash.HEX:
        return f"_utf8mb4 X'{text.encode().hex()}'"
    return "E'" + doubled.replace("\\", "\\\\") + "'"


def _checked(text: str) -> None:
    """Refuse what is no text of a database, or would not reach it as it is."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SignalRefused(f"{text!r}: expected text without lone surrogates") from None
    if "\0" in text:
        raise SignalRefused(f"{text!r}: expected text without the character NUL")
