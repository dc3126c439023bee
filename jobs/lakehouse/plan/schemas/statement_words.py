"""DDL statements word by word: what sqlglot has no syntax tree for, told from its tokens.

In: the tokens of a statement. Out: the columns and tables that it renames, and the columns that it
drops and adds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import dropwhile

import sqlglot
from sqlglot import Token, TokenType

Pair = tuple[str, str]
# A table: what qualifies its name, empty where nothing does, and the name.
Name = tuple[str, str]
Names = tuple[Name, Name]
# Words that change nothing between ALTER and TABLE, and before the names in a clause.
_NOISE = frozenset(("ONLINE", "OFFLINE", "IGNORE", "COLUMN", "IF", "EXISTS"))
_IF_THERE = _NOISE | {"NOT"}
_DEPTH = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}
# What DROP and ADD in a clause may be about instead of a column.
_KEYS = frozenset(("CHECK", "CONSTRAINT", "FOREIGN", "FULLTEXT", "INDEX", "KEY", "PRIMARY"))
_PARTS = _KEYS | {"PARTITION", "PERIOD", "SPATIAL", "SYSTEM", "UNIQUE"}


def renames_by_words(tokens: Sequence[Token]) -> tuple[list[Pair], list[Names]]:
    """The columns and the tables that an ALTER TABLE statement renames, by its words alone."""
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


def replaced_by_words(tokens: Sequence[Token]) -> frozenset[str]:
    """The columns that one statement drops and adds, in lower case."""
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


def listed_renames(ddl: str, dialect: str) -> Iterator[Names]:
    """RENAME TABLE a TO b, c TO d; RENAME a TO b: sqlglot tells their tokens alone.

    Args:
        ddl: One statement, or several of which the first one renames.
        dialect: sqlglot's name of the source's SQL.

    Raises:
        SqlglotError: It has no tokens in this dialect.
    """
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
