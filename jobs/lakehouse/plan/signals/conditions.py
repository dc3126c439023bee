"""Conditions: which rows a snapshot reads, from what a person writes to SQL of the source.

Written as `column operator value`: `id > 100`, `state in ('open', 'paid')`, `"We ird" is not null`,
`public.orders.placed_on >= date '2026-01-01'`. A column of one table of several has the table's
name before it. Text stands in single quotes, a quote inside it twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lakehouse.connectors import CONNECTORS
from lakehouse.errors import ConfigError, SignalRefused
from lakehouse.names import TableIdentity, split_identifier
from lakehouse.plan.signals.sql import NUMBER, Kind, Value, literal, quoted_name

_PART = r"""(?:"(?:[^"]|"")+"|[^\s".=<>!(),']+)"""
_CONDITION = re.compile(
    rf"\s*(?P<name>{_PART}(?:\.{_PART})*)\s*"
    r"(?P<operator><=|>=|<>|!=|=|<|>|\b(?:is\s+not\s+null|is\s+null|not\s+in|in|like)\b)"
    r"\s*(?P<values>.*?)\s*",
    re.DOTALL | re.IGNORECASE,
)
_VALUE = re.compile(
    r"""\s*(?:(?P<kind>date|timestamp)?\s*'(?P<text>(?:[^']|'')*)'"""
    rf"""|(?P<boolean>true|false)|(?P<number>{NUMBER}))"""
    r"""\s*(?P<end>,|$)""",
    re.DOTALL | re.IGNORECASE | re.ASCII,
)
_WITHOUT_VALUE = ("is null", "is not null")
_LISTS = ("in", "not in")
_EXPECTED = (
    "expected column, operator (=, !=, <, <=, >, >=, like, in, not in, is null, is not null) and "
    "value (a number, true, false, text in single quotes, date '2026-01-31', "
    "timestamp '2026-01-31 23:59:59')"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison; a row is read if all of its table's hold.

    Attributes:
        column: Its name, unquoted.
        operator: In lower case with single blanks; `<>` for unequal.
        table: The parts of the table's name; empty for every table of the request.
    """

    column: str
    operator: str
    values: tuple[Value, ...] = ()
    table: tuple[str, ...] = ()

    def sql(self, connector: str) -> str:
        """The comparison in the SQL of a connector's database."""
        rules = CONNECTORS[connector].sql
        start = f"{quoted_name(self.column, rules)} {self.operator.upper()}"
        written = [literal(value, rules) for value in self.values]
        if self.operator in _LISTS:
            return f"{start} ({', '.join(written)})"
        return " ".join((start, *written))


def parse_condition(text: str, connector: str) -> Condition:
    """Read a condition.

    Raises:
        ConfigError: It is none, or the name before its column is no table's.
    """
    found = _CONDITION.fullmatch(text)
    parts = split_identifier(found["name"]) if found else None
    if found is None or parts is None:
        raise ConfigError(f"condition {text!r}: {_EXPECTED}")
    operator = " ".join(found["operator"].lower().split()).replace("!=", "<>")
    length = len(CONNECTORS[connector].identity_parts)
    if len(parts) not in (1, length + 1):
        raise ConfigError(
            f"condition {text!r}: expected a column, or a column behind the {length} parts of its "
            "table's name; a part that holds a dot in double quotes"
        )
    return Condition(parts[-1], operator, _values(text, operator, found["values"]), parts[:-1])


def filter_of(table: TableIdentity, conditions: Iterable[Condition], connector: str) -> str | None:
    """The condition on one table's rows, in brackets; None where every row is read.

    A connector puts it behind `AND` as it is (`JdbcConnection.buildSelectWithRowLimits`).
    """
    parts = table.parts(connector)
    mine = [each.sql(connector) for each in conditions if each.table in ((), parts)]
    return f"({' AND '.join(mine)})" if mine else None


def raw_filter(text: str) -> str:
    """A person's own SQL in brackets, which a comment at its end does not swallow.

    Raises:
        SignalRefused: It is empty.
    """
    if not text.strip():
        raise SignalRefused("raw condition: expected SQL that is not empty")
    return f"({text}\n)"


def _values(text: str, operator: str, values: str) -> tuple[Value, ...]:
    is_list = operator in _LISTS
    bare = values[1:-1] if is_list and values[:1] == "(" and values[-1:] == ")" else values
    found: list[Value] = []
    end, more = 0, bool(bare)
    while more:
        match = _VALUE.match(bare, end)
        if match is None:
            raise ConfigError(f"condition {text!r}: {_EXPECTED}")
        found.append(_value(match))
        end, more = match.end(), match["end"] == ","
    wanted = 0 if operator in _WITHOUT_VALUE else 1
    if is_list == (bare == values) or len(found) < wanted or (len(found) > wanted and not is_list):
        raise ConfigError(f"condition {text!r}: {_EXPECTED}")
    return tuple(found)


def _value(match: re.Match[str]) -> Value:
    if match["number"]:
        return Value(Kind.NUMBER, match["number"])
    if match["boolean"]:
        return Value(Kind.BOOLEAN, match["boolean"].lower())
    kind = Kind(match["kind"].lower()) if match["kind"] else Kind.TEXT
    return Value(kind, match["text"].replace("''", "'"))
