"""Defaults that a connector reads from the database's own text of them, and what it makes of it.

In: the plan of a table's batch, and the connector's rules. Out: the plan without the defaults that
only stand for an expression, and with the columns as stale whose older rows may have another value
than silver gives them.

PostgreSQL's connector sends 0, an empty text, `{}` or the epoch for every function, the first text
between quotes for everything with quotes, and nothing for the types and expressions that it cannot
read (`tests/stack/test_added_columns.py`). Db2's and SQL Server's cut the quotes off whatever is
there; Db2's sends the epoch for CURRENT DATE and the like, SQL Server's false for what is not
`((1))` (`PostgresDefaultValueConverter` and its like in Debezium). SQL Server itself gives older
rows the default of a column that may be NULL only WITH VALUES
(https://learn.microsoft.com/sql/t-sql/statements/alter-table-column-definition-transact-sql).
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace

from lakehouse.connectors import Connector
from lakehouse.plan.batches.tables import Rewritten, TablePlan
from lakehouse.plan.batches.told_defaults import columns_since
from lakehouse.plan.schemas.row_schema import PROVEN
from lakehouse.plan.schemas.types import Column, Kind

_ZERO_UUID = "00000000-0000-0000-0000-000000000000"
_EPOCH = "1970-01-01T00:00:00"
_TIMES = (Kind.DAYS, Kind.MILLIS, Kind.MICROS, Kind.ZONED)
_STANDS_IN = (
    "the default that the messages tell ({}) is what the connector sends for a function, too: "
    "older rows are NULL here"
)
_WRITTEN = (
    "the default that the messages tell ({}) may be what the connector made of an expression, and "
    "no row behind the change has it: older rows have it here"
)
_NULLABLE = (
    "the source gives the default that the messages tell ({}) to older rows of a column that may "
    "be NULL only if the statement says WITH VALUES, which no message tells: they are NULL here"
)
_UNTOLD = (
    "the messages tell no default of such a column, and no row behind the change is NULL in it: "
    "older rows are NULL here"
)


def with_doubted_defaults(plan: TablePlan, connector: Connector) -> TablePlan:
    """The plan with what its events' defaults leave open about rows older than a column.

    Args:
        plan: Its defaults are those of the events' schema.
        connector: Says whether they can be doubted.
    """
    if not connector.defaults_as_read:
        return plan
    defaults, stale = dict(plan.defaults), dict(plan.stale)
    for name, column in columns_since(plan).items():
        told = defaults.get(name)
        if told is None:
            if column.optional and _is_never_told(column, connector):
                stale[column.name] = Rewritten(_UNTOLD, unless_shown=True)
            continue
        is_nullable = column.optional and connector.nullable_stays_null
        if is_nullable or _only_stands_in(told):
            defaults.pop(name)
            why = _NULLABLE if is_nullable else _STANDS_IN
            stale[column.name] = Rewritten(why.format(_shown(told)))
        elif _is_text(told) or (told.wire in connector.blank_defaults and _is_blank(told)):
            stale[column.name] = Rewritten(_WRITTEN.format(_shown(told)), unless_shown=True)
    return replace(plan, defaults=defaults, stale=stale)


def _shown(column: Column) -> str:
    return "masked" if column.type.is_masked else str(column.default)


def _value(column: Column) -> object:
    return json.loads(column.default or "null")


def _only_stands_in(column: Column) -> bool:
    """A value that hardly any table has as a constant default."""
    value, kind = _value(column), column.type.sent.kind
    is_time = kind in _TIMES or column.semantic.startswith("io.debezium.time.")
    if isinstance(value, str):
        return value == _ZERO_UUID or (is_time and value.startswith(_EPOCH))
    return is_time and value == 0


def _is_text(column: Column) -> bool:
    return column.wire == "string" and not column.semantic


def _is_blank(column: Column) -> bool:
    value = _value(column)
    if isinstance(value, str) and column.wire == "bytes":
        return not any(base64.b64decode(value))
    return value in (0, False, "", "{}") or (_is_number_text(column) and float(str(value)) == 0)


def _is_number_text(column: Column) -> bool:
    return column.wire == "string" and column.type.sent.spark.startswith("decimal")


def _is_never_told(column: Column, connector: Connector) -> bool:
    return column.wire == PROVEN or (column.semantic or column.wire) in connector.untold_defaults
