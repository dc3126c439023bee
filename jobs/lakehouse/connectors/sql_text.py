"""How the database of each connector writes names and values in SQL, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Backslash(StrEnum):
    """How text with a backslash is written: in plain text a setting may decide what one means."""

    PLAIN = "plain"
    """As any other character: the database knows no escapes."""
    DOUBLED = "doubled"
    """`E'…'`, where one always escapes the next character (PostgreSQL)."""
    HEX = "hex"
    """`_utf8mb4 X'…'`, the bytes of the text (MySQL, MariaDB)."""


@dataclass(frozen=True, slots=True)
class SqlText:
    """The rules of one database.

    Attributes:
        opening: What stands before a quoted name.
        closing: What stands behind it; inside the name it is doubled.
        any_name: Whether a name may hold the closing character at all.
        text: A quoted text; its quotes are doubled.
        backslash: How a text with a backslash is written.
        boolean: Whether there are the words `true` and `false`.
        date: A date, as a template.
        timestamp: A time without zone, as a template.
    """

    opening: str = '"'
    closing: str = '"'
    any_name: bool = True
    text: str = "'{}'"
    backslash: Backslash = Backslash.PLAIN
    boolean: bool = False
    date: str = "DATE '{}'"
    timestamp: str = "TIMESTAMP '{}'"
