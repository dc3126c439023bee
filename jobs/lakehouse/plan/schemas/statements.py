"""DDL statements as the source sends them, read with sqlglot: what only their text tells.

In: the `ddl` of a schema change event. Out: the columns and tables that it renames. A statement
that cannot be read tells nothing: the full table after the change stands beside it anyway.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import dropwhile

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ErrorLevel, SqlglotError

Pair = tuple[str, str]
# A table: what qualifies its name, empty where nothing does, and the name.
Name = tuple[str, str]
Names = tuple[Name, Name]
# It prints the statements that it does not know, which may quote masked values.
logging.getLogger("sqlglot").disabled = True
# Words that change nothing between ALTER and TABLE, and before the names in a clause.
_NOISE = frozenset(("ONLINE", "OFFLINE", "IGNORE", "COLUMN", "IF", "EXISTS"))
_IF_THERE = _NOISE | {"NOT"}
_WORD = re.compile(r"\w+")
_DEPTH = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}
# What DROP and ADD in a clause may be about instead of a column.
_KEYS = frozenset(("CHECK", "CONSTRAINT", "FOREIGN", "FULLTEXT", "INDEX", "KEY", "PRIMARY"))
_PARTS = _KEYS | {"PARTITION", "PERIOD", "SPATIAL", "SYSTEM", "UNIQUE"}


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
        return (*pairs, *_listed(ddl, dialect))
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
        found = [_replaced(tokens) for tokens in _statements(ddl, dialect)]
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
            yield _by_words(tokens)


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


def _by_words(tokens: Sequence[Token]) -> tuple[list[Pair], list[Names]]:
    texts = [token.text for token in tokens if not _is_noise(token)]
    if [text.upper() for text in texts[:2]] != ["ALTER", "TABLE"]:
        return [], []
    name = next((i for i in range(2, len(texts), 2) if texts[i + 1 : i + 2] != ["."]), 2)
    columns: list[Pair] = []
    tables: list[Names] = []
    for clause in _split(texts[name + 1 :], ","):
        match [clause[0].upper() if clause else "", *clause[1:]]:
            case ["CHANGE", old, new, *_] if old != new:
                columns.append((old, new))
            case ["RENAME", old, to, new] if to.upper() == "TO":
                columns.append((old, new))
            case ["RENAME", to, *new] if to.upper() in ("TO", "AS", "=") and _is_name(new):
                tables.append((_name(texts[2 : name + 1]), _name(new)))
    return columns, tables


def _replaced(tokens: Sequence[Token]) -> frozenset[str]:
    """The columns that one statement drops and adds."""
    if not tokens or tokens[0].text.upper() != "ALTER":
        return frozenset()
    about: dict[str, set[str]] = {"DROP": set(), "ADD": set()}
    for clause in _clauses(tokens):
        # The table's name stands before the first clause.
        verb = next((n for n, token in enumerate(clause) if _is_word(token, about)), len(clause))
        for part in _columns(clause[verb + 1 :]):
            name = next((t for t in part if not _is_word(t, _IF_THERE)), None)
            if name is not None and not _is_word(name, _PARTS):
                about[clause[verb].text.upper()].add(name.text.lower())
    return frozenset(about["DROP"] & about["ADD"])


def _columns(tokens: Sequence[Token]) -> list[list[Token]]:
    """The definitions in a clause: ADD has several in brackets, of Oracle DROP too."""
    rest = list(dropwhile(lambda token: _is_word(token, _IF_THERE), tokens))
    if rest and rest[0].token_type == TokenType.L_PAREN:
        end = rest[-1].token_type == TokenType.R_PAREN
        return _clauses(rest[1:-1] if end else rest[1:])
    return [rest]


def _clauses(tokens: Iterable[Token]) -> list[list[Token]]:
    """What stands between the commas that no brackets are around."""
    found: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += _DEPTH.get(token.token_type, 0)
        if depth == 0 and token.token_type == TokenType.COMMA:
            found.append([])
        else:
            found[-1].append(token)
    return found


def _is_noise(token: Token) -> bool:
    return _is_word(token, _NOISE)


def _is_word(token: Token, words: Collection[str]) -> bool:
    """Whether it is one of some words, and no name in quotes."""
    return token.token_type != TokenType.IDENTIFIER and token.text.upper() in words


def _listed(ddl: str, dialect: str) -> Iterator[Names]:
    """RENAME TABLE a TO b, c TO d; RENAME a TO b: sqlglot tells their tokens alone."""
    tokens = sqlglot.tokenize(ddl, read=dialect)
    if not tokens or tokens[0].text.upper() != "RENAME":
        return
    rest = [token.text for token in sqlglot.tokenize(ddl[tokens[0].end + 1 :], read=dialect)]
    if rest and rest[0].upper() in ("TABLE", "TABLES"):
        rest = rest[1:]
    if [text.upper() for text in rest[:2]] == ["IF", "EXISTS"]:
        rest = rest[2:]
    for part in _split(rest, ","):
        old, *new = _split(part, "TO")
        old = _without_wait(old)
        if len(new) == 1 and _is_name(old) and _is_name(new[0]):
            yield _name(old), _name(new[0])


def _without_wait(texts: list[str]) -> list[str]:
    """A name without how long MariaDB waits for its lock.

    https://mariadb.com/docs/server/reference/sql-statements/data-definition/rename-table
    """
    match [text.upper() for text in texts[1:]]:
        case [*_, "WAIT", seconds] if seconds.isdigit():
            return texts[:-2]
        case [*before, "NOWAIT"] if before[-1:] != ["."]:
            return texts[:-1]
    return texts


def _split(texts: Iterable[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for text in texts:
        if text.upper() == separator:
            parts.append([])
        else:
            parts[-1].append(text)
    return parts


def _is_name(texts: Sequence[str]) -> bool:
    """Whether the tokens are a name and what qualifies it, with dots between them."""
    return len(texts) % 2 == 1 and all(text == "." for text in texts[1::2])


def _name(texts: Sequence[str]) -> Name:
    """The name at the end of such tokens, and what stands right before it."""
    return "".join(texts[-3:-2]), texts[-1]
