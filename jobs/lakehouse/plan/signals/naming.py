r"""How a signal names a table, so that the connector finds this one and no other.

A data collection in a signal is a regular expression. Of an incremental snapshot it is compared
with the connector's identifiers, the parts of each table's name joined by dots without quotes; what
matches, or the text itself where nothing does, is then parsed as a name, where quotes count, a
blank outside of them ends a part, and doubled quotes become one
(`AbstractIncrementalSnapshotChangeEventSource.expandAndDedupeDataCollectionIds`, `TableIdParser`).
So `public.orders` is right as it is; a name with a dot or a blank stands in quotes, which match no
identifier; one with a bracket is an expression that matches it. Of a blocking snapshot it is
compared without regard to case, with the name in double quotes too
(`AbstractSnapshotChangeEventSource.tableNameMatcher`).

While an incremental snapshot runs, the connector's offsets hold the identifiers. They are parsed
when it starts again, by PostgreSQL's and Oracle's connectors at each commit: of a blank the task
ended, and did not start again (seen with PostgreSQL, 3.6.1.Final). What that parser refuses is
never sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lakehouse.errors import SignalRefused

_WORD = re.compile(r"\w+")
_QUOTES = "\"'`"
_AT_ENDS = '"`[]'
# What the parser takes for a part of a name without quotes.
_PARSED = re.compile(r"[^\s.\"'`][^\s.]*")
# Behind one of these the quoted name would be an expression that could match another table.
_META = re.compile(r"[\\|?*+()\[\]{}]")


@dataclass(frozen=True, slots=True)
class CollectionName:
    """One table, as a signal and what comes of it name it.

    Attributes:
        identifier: As notifications name it: parts joined by dots, unquoted.
        incremental: In `data-collections` of incremental snapshots; None where the connector would
            not survive one.
        incremental_filter: In `data-collection` of their conditions.
        blocking: In `data-collections` of blocking snapshots.
        blocking_filter: In `data-collection` of their conditions; None where there is no way.
        is_kept: Whether a connector that is restarted knows what it was reading.
    """

    identifier: str
    incremental: str | None
    incremental_filter: str
    blocking: str
    blocking_filter: str | None
    is_kept: bool


def collection_name(parts: Sequence[str]) -> CollectionName:
    """Name a table.

    Args:
        parts: The parts of its name as the connector has them, such as `("public", "orders")`.

    Raises:
        SignalRefused: The connector could not be told this table.
    """
    _refuse_quotes_at_ends(parts)
    identifier, quoted = ".".join(parts), ".".join(_quoted(part) for part in parts)
    is_plain = all(_WORD.fullmatch(part) for part in parts)
    is_whole = not any(c in _QUOTES or c == "." or c.isspace() for part in parts for c in part)
    is_meta = any(_META.search(part) for part in parts)
    if is_plain:
        text = expanded = identifier
    elif not is_meta:
        text = expanded = quoted
    else:
        text, expanded = _exactly(identifier), identifier
        if not is_whole:
            raise SignalRefused(
                f"table {identifier!r}: expected a name without one of \\ | ? * + ( ) [ ] {{ }} "
                "beside a dot, a blank or a quote: no signal can name such a table; rename it, or "
                "take a source snapshot of all tables"
            )
    return CollectionName(
        identifier=identifier,
        incremental=text if all(map(_PARSED.fullmatch, identifier.split("."))) else None,
        incremental_filter=_exactly(expanded),
        blocking=_exactly(identifier if is_plain else _double_quoted(parts)),
        blocking_filter=None if is_meta else expanded,
        is_kept=is_whole,
    )


def _refuse_quotes_at_ends(parts: Sequence[str]) -> None:
    """The connector takes such a part for one that is quoted already (`TableId.quote`)."""
    for part in parts:
        if not part or part[0] in _AT_ENDS or part[-1] in _AT_ENDS:
            raise SignalRefused(
                f"table {'.'.join(parts)!r}: expected parts that neither begin nor end with one of "
                f"{' '.join(_AT_ENDS)}: the connector would write this name into its SQL unquoted"
            )


def _quoted(part: str) -> str:
    """Each kind of quote twice: the parser makes one of two."""
    return '"' + re.sub(f"[{_QUOTES}]", lambda found: found.group() * 2, part) + '"'


def _double_quoted(parts: Sequence[str]) -> str:
    """As `TableId.toDoubleQuotedString` writes it."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _exactly(text: str) -> str:
    """A Java regular expression that only this text matches, and that no splitter cuts."""
    escaped = re.sub(r"[^A-Za-z0-9_]", lambda found: f"\\x{{{ord(found.group()):x}}}", text)
    return f"(?-i){escaped}"
