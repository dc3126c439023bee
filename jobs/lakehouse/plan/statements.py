"""DDL statements as the source sends them, read with sqlglot: what only their text tells.

In: the `ddl` of a schema change event. Out: the columns and tables that it renames. A statement
that cannot be read tells nothing: the full table after the change stands beside it anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError


def renamed_columns(ddl: str, dialect: str | None) -> tuple[tuple[str, str], ...]:
    """The columns that a statement renames, as (old name, new name), as it writes them.

    Args:
        ddl: One or several statements, as the schema change event carries them.
        dialect: sqlglot's name of the source's SQL; None where the source sends no statements.
    """
    if dialect is None or not ddl:
        return ()
    try:
        return tuple(pair for _, action in _altered(ddl, dialect) for pair in _renamed(action))
    except SqlglotError:
        return ()


def renamed_tables(ddl: str, dialect: str | None) -> tuple[tuple[str, str], ...]:
    """The tables that a statement renames, as (old name, new name) without their databases.

    A statement that puts another table in the place of the one that it renames away, as online
    schema changes do, renames none: the table goes on under its name.

    Args:
        ddl: One or several statements, as the schema change event carries them.
        dialect: sqlglot's name of the source's SQL; None where the source sends no statements.
    """
    if dialect is None or "rename" not in ddl.lower():
        return ()
    try:
        pairs = [
            # ALTER TABLE a RENAME TO b.
            *(
                (table, action.this.name)
                for table, action in _altered(ddl, dialect)
                if isinstance(action, exp.AlterRename)
            ),
            *_listed(ddl, dialect),
        ]
    except SqlglotError:
        return ()
    was = {old.lower() for old, _ in pairs}
    swapped = {new.lower() for _, new in pairs} & was
    return tuple((o, n) for o, n in pairs if not {o.lower(), n.lower()} & swapped)


def _altered(ddl: str, dialect: str) -> Iterator[tuple[str, exp.Expression]]:
    """What ALTER TABLE statements do, each action with the table's name."""
    for statement in sqlglot.parse(ddl, read=dialect, error_level=ErrorLevel.RAISE):
        if isinstance(statement, exp.Alter):
            for action in statement.args.get("actions") or ():
                yield statement.this.name, action


def _listed(ddl: str, dialect: str) -> Iterator[tuple[str, str]]:
    """RENAME TABLE a TO b, c TO d; RENAME a TO b: sqlglot tells their tokens alone."""
    tokens = sqlglot.tokenize(ddl, read=dialect)
    if not tokens or tokens[0].text.upper() != "RENAME":
        return
    rest = [token.text for token in sqlglot.tokenize(ddl[tokens[0].end + 1 :], read=dialect)]
    if rest and rest[0].upper() in ("TABLE", "TABLES"):
        rest = rest[1:]
    for part in _split(rest, ","):
        old, *new = _split(part, "TO")
        if len(new) == 1 and _is_name(old) and _is_name(new[0]):
            yield old[-1], new[0][-1]


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


def _renamed(action: exp.Expression) -> Iterator[tuple[str, str]]:
    if isinstance(action, exp.RenameColumn):
        yield action.this.name, action.args["to"].name
    was = action.args.get("rename_from")
    if isinstance(was, exp.Expression) and was.name != action.this.name:
        yield was.name, action.this.name
