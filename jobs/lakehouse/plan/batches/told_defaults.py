"""Defaults that only a statement tells: what rows older than an added column have in it.

In: the plan of a table's batch, the columns that its statements added. Out: the plan with the
constants of the statements, and with every other column as stale: the source sends no event for
these rows (`design.md` §4).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal

from lakehouse.plan.batches.tables import Rewritten, TablePlan
from lakehouse.plan.records import WITHHELD
from lakehouse.plan.schemas.added_columns import AddedColumn, added_columns
from lakehouse.plan.schemas.types import Column, Kind, ValueType

# The longest decimal of a database that sends statements has 65 digits.
_DIGITS = Context(prec=100)
_SPELT = "io.debezium.data."
_LONGEST = 2**63
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_REQUIRED = (
    "it was added as NOT NULL, and no message tells the value that the source gave to its older "
    "rows: they are NULL here"
)
_UNREAD = (
    "no statement that could be read adds a column of this name: what the source gave to its older "
    "rows is not known"
)
_HIDDEN = (
    "it was added by a statement that is withheld, since the table has masked columns: a default "
    "that only the statement tells is not known; if there is one, older rows are NULL here"
)


def columns_since(plan: TablePlan) -> dict[str, Column]:
    """The columns, by lower-case name, that rows older than the batch's newest version lack."""
    if plan.exists:
        return {column.name.lower(): column for column in plan.schema.add}
    first = {c.name.lower() for version in plan.versions[:1] for c in version.stored_columns}
    found = {c.name.lower(): c for version in plan.versions for c in version.stored_columns}
    return {name: column for name, column in found.items() if name not in first}


def with_told_defaults(
    plan: TablePlan, statements: Sequence[tuple[str, str]], dialect: str | None
) -> TablePlan:
    """The plan with what statements tell of columns that older rows lack.

    Args:
        plan: Its defaults are those of the events' schema, which may have been set later.
        statements: Those that may add columns, oldest first, with the table's name in them.
        dialect: sqlglot's name of the source's SQL; None where the source sends no statements.
    """
    added = columns_since(plan)
    told = (column for ddl, table in statements for column in added_columns(ddl, dialect, table))
    newest = {column.name.lower(): column for column in told}
    # Beside the one that had its name before, a column has another name until it is published.
    coming = {each.was.lower(): each.name.lower() for each in plan.renames if each.comes}
    newest |= {was: newest[name] for was, name in coming.items() if name in newest}
    defaults, stale = dict(plan.defaults), dict(plan.stale)
    for name, column in added.items():
        statement = newest.get(name)
        if column.type.is_masked:
            continue
        if statement is None:
            if any(not ddl.endswith(WITHHELD) for ddl, _ in statements):
                stale[column.name] = Rewritten(_UNREAD)
            elif not column.optional and name not in defaults:
                stale[column.name] = Rewritten(_REQUIRED)
            continue
        token = _token(statement, column, sent=name in defaults)
        if token is not None:
            defaults[name] = replace(column, default=token)
        elif not statement.is_constant:
            # What the events' schema has was set later, or stands for an expression.
            defaults.pop(name, None)
        if name not in defaults and (statement.default or statement.required):
            stale[column.name] = Rewritten(_unknown(statement))
    if any(ddl.endswith(WITHHELD) for ddl, _ in statements):
        hidden = {name: c for name, c in added.items() if not c.type.is_masked}
        unknown = [c.name for name, c in hidden.items() if name not in {*newest, *defaults}]
        stale |= dict.fromkeys(unknown, Rewritten(_HIDDEN))
    return replace(plan, defaults=defaults, stale=stale)


def _token(statement: AddedColumn, column: Column, *, sent: bool) -> str | None:
    """What an event would have of a statement's default; None where the events' schema tells more.

    Args:
        statement: Declares the column.
        column: As the events declare it.
        sent: Whether their schema has a default, in which enums and sets have their own spelling.
    """
    is_spelt = sent and bool(statement.default) and column.semantic.startswith(_SPELT)
    if statement.constant is None or is_spelt:
        return None
    return as_sent(statement.constant, column)


def _unknown(column: AddedColumn) -> str:
    what = f"the default {column.default}" if column.default else "NOT NULL and without a default"
    return (
        f"it was added with {what}, which the source gave to its older rows "
        "without an event: they are NULL here"
    )


def as_sent(constant: str, column: Column) -> str | None:
    """A constant of a statement as the JSON that an event would have; None where that is unclear.

    Args:
        constant: Without quotes.
        column: As the events declare it.
    """
    sent = column.type.sent
    name = sent.spark.partition("(")[0]
    convert = _SENT.get((sent.kind, name)) or _SENT.get((sent.kind, ""))
    # Such a number has a unit, or a spelling of its own, as a year has.
    if convert is None or (sent.spark in ("int", "bigint") and column.semantic):
        return None
    try:
        return json.dumps(convert(constant, sent))
    except (ValueError, LookupError, ArithmeticError):
        return None


def _text(constant: str, _: ValueType) -> str:
    return constant


def _whole(constant: str, sent: ValueType) -> int:
    number = int(constant)
    if sent.kind is Kind.CAST and abs(number) >= _LONGEST:
        raise ValueError(f"{constant!r} is sent as another number")
    return number


def _float(constant: str, _: ValueType) -> float:
    return float(constant)


def _digits(constant: str, _: ValueType) -> str:
    return str(Decimal(constant))


def _flag(constant: str, _: ValueType) -> bool:
    return {"0": False, "1": True, "false": False, "true": True}[constant.lower()]


def _bytes_of_decimal(constant: str, sent: ValueType) -> str:
    unscaled = Decimal(constant).scaleb(sent.scale, _DIGITS)
    if unscaled != int(unscaled):
        raise ValueError(f"{constant!r} has more digits than the column")
    number = int(unscaled)
    size = number.bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()


def _days(constant: str, _: ValueType) -> int:
    return date.fromisoformat(constant).toordinal() - _EPOCH.toordinal()


def _millis(constant: str, sent: ValueType) -> int:
    return _micros(constant, sent) // 1000


def _micros(constant: str, _: ValueType) -> int:
    moment = datetime.fromisoformat(constant)
    if moment.tzinfo is not None:
        raise ValueError(f"{constant!r} has a zone")
    return (moment.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


_SENT: Mapping[tuple[Kind, str], Callable[[str, ValueType], object]] = {
    (Kind.CAST, "string"): _text,
    (Kind.CAST, "int"): _whole,
    (Kind.CAST, "bigint"): _whole,
    (Kind.CAST, "float"): _float,
    (Kind.CAST, "double"): _float,
    (Kind.CAST, "boolean"): _flag,
    (Kind.CAST, "decimal"): _digits,
    (Kind.NARROW, ""): _whole,
    (Kind.UNSIGNED, ""): _whole,
    (Kind.DECIMAL, ""): _bytes_of_decimal,
    (Kind.DAYS, ""): _days,
    (Kind.MILLIS, ""): _millis,
    (Kind.MICROS, ""): _micros,
}
