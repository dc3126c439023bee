"""Columns that a statement adds, and the defaults that it gives them.

In: the `ddl` of a schema change event. Out: the columns. A statement that cannot be read adds none.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from lakehouse.plan.schemas.statements import parsed_statements

# Written out in a statement; a CAST is a literal with its type before it.
_CONSTANTS = (
    *(exp.Literal, exp.Boolean, exp.BitString, exp.HexString, exp.National),
    *(exp.Introducer, exp.Cast),
)
# Each row has a value of its own: a calculated one, or the next number.
_OWN_VALUES = (
    *(exp.ComputedColumnConstraint, exp.GeneratedAsIdentityColumnConstraint),
    *(exp.GeneratedAsRowColumnConstraint, exp.AutoIncrementColumnConstraint),
)


@dataclass(frozen=True, slots=True)
class AddedColumn:
    """A column as the statement that adds it declares it.

    Attributes:
        default: As the statement writes it; empty where it has none, or NULL.
        is_constant: Whether older rows all have the same.
        constant: What they have, without quotes; None where the text does not tell it.
        required: Whether the column may not be NULL.
    """

    name: str
    default: str = ""
    is_constant: bool = False
    constant: str | None = None
    required: bool = False


def added_columns(ddl: str, dialect: str | None, table: str) -> tuple[AddedColumn, ...]:
    """The columns that a statement adds to a table that is there.

    Args:
        ddl: One or several statements, as the schema change event carries them.
        dialect: sqlglot's name of the source's SQL; None where the source sends no statements.
        table: Its name, without what qualifies it.
    """
    if dialect is None or "add" not in ddl.lower():
        return ()
    statements = (s for s in parsed_statements(ddl, dialect) if isinstance(s, exp.Alter))
    mine = (s for s in statements if s.this.name.lower() == table.lower())
    actions = (action for statement in mine for action in statement.args.get("actions") or ())
    kinds = exp.ColumnDef, exp.Schema
    return tuple(
        _added(column, dialect)
        for action in actions
        if type(action) in kinds
        for column in action.find_all(exp.ColumnDef)
    )


def _added(column: exp.ColumnDef, dialect: str) -> AddedColumn:
    kinds = [constraint.kind for constraint in column.constraints]
    required = any(
        isinstance(kind, exp.NotNullColumnConstraint) and not kind.args.get("allow_null")
        for kind in kinds
    )
    if own := _own_value(column, dialect):
        return AddedColumn(column.name, own, required=required)
    told = [kind.this for kind in kinds if isinstance(kind, exp.DefaultColumnConstraint)]
    if not told or isinstance(told[-1], exp.Null):
        implied = _implied(column, dialect) if required else None
        return AddedColumn(column.name, "", implied is not None, implied, required)
    default = told[-1].unnest()
    is_constant = isinstance(default, _CONSTANTS) or _is_negative(default)
    # Bytes are written as text in a statement, and as Base64 in an event.
    is_bytes = column.kind is not None and column.kind.is_type("binary", "varbinary", "blob")
    constant = None if is_bytes else _constant(default)
    return AddedColumn(column.name, default.sql(dialect=dialect), is_constant, constant, required)


def _implied(column: exp.ColumnDef, dialect: str) -> str | None:
    """What older rows have in a column without a default that may not be NULL; None if unclear.

    MySQL's documentation, "Data Type Default Values"
    (https://dev.mysql.com/doc/refman/8.4/en/data-type-defaults.html); so do MariaDB and TiDB.
    """
    kind = column.kind
    if dialect != "mysql" or kind is None:
        return None
    if kind.is_type(exp.DataType.Type.ENUM):
        return str(kind.expressions[0].name)
    if kind.is_type(exp.DataType.Type.SET, *exp.DataType.TEXT_TYPES):
        return ""
    is_number = kind.is_type(exp.DataType.Type.BOOLEAN, *exp.DataType.NUMERIC_TYPES)
    return "0" if is_number else None


def _own_value(column: exp.ColumnDef, dialect: str) -> str:
    """What gives each row a value of its own, as a statement writes it; empty for nothing."""
    for constraint in column.constraints:
        if isinstance(constraint.kind, _OWN_VALUES):
            return constraint.kind.sql(dialect=dialect)
    kind = column.kind.sql(dialect=dialect) if column.kind is not None else ""
    return kind if kind.upper() == "SERIAL" else ""


def _constant(default: exp.Expression) -> str | None:
    if isinstance(default, exp.Boolean):
        return str(int(bool(default.this)))
    if _is_negative(default):
        return f"-{default.this.name}"
    return default.name if isinstance(default, exp.Literal) else None


def _is_negative(default: exp.Expression) -> bool:
    return isinstance(default, exp.Neg) and isinstance(default.this, exp.Literal)
