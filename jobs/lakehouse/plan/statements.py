"""DDL statements as the source sends them, read with sqlglot: what only their text tells.

In: the `ddl` of a schema change event. Out: the columns that it renames. A statement that cannot
be read tells nothing: the full table after the change stands beside it anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError


def renamed_columns(ddl: str, dialect: str | None) -> tuple[tuple[str, str], ...]:
    """The columns that a statement renames, as (old name, new name), as it writes them.

    Args:
        ddl: One or several statements, as the schema change event carries them.
        dialect: sqlglot's name of the source's SQL; None where the source sends no statements.
    """
    if dialect is None or not ddl:
        return ()
    try:
        statements = sqlglot.parse(ddl, read=dialect)
    except SqlglotError:
        return ()
    return tuple(
        pair
        for statement in statements
        if isinstance(statement, exp.Alter)
        for action in statement.args.get("actions") or ()
        for pair in _renamed(action)
    )


def _renamed(action: exp.Expression) -> Iterator[tuple[str, str]]:
    if isinstance(action, exp.RenameColumn):
        yield action.this.name, action.args["to"].name
    was = action.args.get("rename_from")
    if isinstance(was, exp.Expression) and was.name != action.this.name:
        yield was.name, action.this.name
