"""DDL statements as the source sends them, read with sqlglot: what only their text tells.

In: the `ddl` of a schema change event. Out: the columns and tables that it renames. A statement
that cannot be read tells nothing: the full table after the change stands beside it anyway.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ErrorLevel, SqlglotError

from lakehouse.plan.schemas.statement_words import (
    Name,
    Names,
    Pair,
    listed_renames,
    renames_by_words,
    replaced_by_words,
)

# It prints the statements that it does not know, which may quote masked values.
logging.getLogger("sqlglot").disabled = True
_WORD = re.compile(r"\w+")


def renamed_columns(ddl: str, dialect: str | None) -> tuple[Pair, ...]:
    """The columns that a statement renames, as (old name, new name), as it writes them.

    Args:
        ddl: One or several statements, as the schema change event carries them.
        dialect: sqlglot's name of the source's SQL; None where the source sends no statements.
    """
    if dialect is None or not ddl:
        return ()
    try:
        return tuple(pair for columns, _ in _altered(ddl, dialect) for pair in columns)
    except SqlglotError:
        return ()


def renamed_tables(ddl: str, dialect: str | None) -> tuple[Names, ...]:
    """The tables that a statement renames, as (old name, new name), each with its database.

    Args:
        ddl: One or several statements, as the schema change event carries them.
        dialect: sqlglot's name of the source's SQL; None where the source sends no statements.
    """
    if dialect is None or "rename" not in ddl.lower():
        return ()
    try:
        pairs = (pair for _, tables in _altered(ddl, dialect) for pair in tables)
        return (*pairs, *listed_renames(ddl, dialect))
    except SqlglotError:
        return ()


def replaced_columns(ddl: str, dialect: str | None) -> frozenset[str]:
    """The columns that a statement drops and adds under the same name, in lower case.

    Args:
        ddl: One or several statements, as the schema change event carries them.
        dialect: sqlglot's name of the source's SQL; None where the source sends no statements.
    """
    if dialect is None or not {"drop", "add"} <= set(_WORD.findall(ddl.lower())):
        return frozenset()
    try:
        found = [replaced_by_words(tokens) for tokens in _statements(ddl, dialect)]
    except SqlglotError:
        return frozenset()
    return frozenset[str]().union(*found)


def parsed_statements(ddl: str, dialect: str) -> tuple[exp.Expr, ...]:
    """The statements of a text that sqlglot knows.

    Args:
        ddl: One or several statements.
        dialect: sqlglot's name of the source's SQL.
    """
    try:
        found = [_parsed(ddl, tokens, dialect) for tokens in _statements(ddl, dialect)]
    except SqlglotError:
        return ()
    return tuple(statement for statement in found if statement is not None)


def _altered(ddl: str, dialect: str) -> Iterator[tuple[list[Pair], list[Names]]]:
    """The columns and the tables that each ALTER TABLE statement renames."""
    for tokens in _statements(ddl, dialect):
        statement = _parsed(ddl, tokens, dialect)
        if isinstance(statement, exp.Alter):
            actions = statement.args.get("actions") or ()
            tables = [_parts(a.this) for a in actions if isinstance(a, exp.AlterRename)]
            yield (
                [pair for action in actions for pair in _renamed(action)],
                [(_parts(statement.this), name) for name in tables],
            )
        else:
            # One of its clauses is beyond sqlglot: those that rename are read by their words.
            yield renames_by_words(tokens)


def _parsed(ddl: str, tokens: Sequence[Token], dialect: str) -> exp.Expr | None:
    """One statement of a text; None where sqlglot does not know it."""
    try:
        text = ddl[tokens[0].start : tokens[-1].end + 1]
        return sqlglot.parse_one(text, read=dialect, error_level=ErrorLevel.RAISE)
    except SqlglotError:
        return None


def _statements(ddl: str, dialect: str) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in sqlglot.tokenize(ddl, read=dialect):
        if token.token_type != TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _parts(table: exp.Expr) -> Name:
    return table.text("db"), table.name


def _renamed(action: exp.Expression) -> Iterator[Pair]:
    if isinstance(action, exp.RenameColumn):
        yield action.this.name, action.args["to"].name
    was = action.args.get("rename_from")
    if isinstance(was, exp.Expression) and was.name != action.this.name:
        yield was.name, action.this.name
