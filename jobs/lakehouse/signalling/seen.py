"""Whether the tables and columns that a signal names have been seen in the source's messages.

In: a request, and what is recorded. Out: sentences, or a refusal: a connector that reads a column
which is not there fails, and again when it is restarted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from lakehouse.config import SourceConfig
from lakehouse.errors import SignalRefused
from lakehouse.names import TableIdentity, format_table
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.signals.request import Request

# Table → its columns as it was last seen.
_Seen = Mapping[tuple[str, ...], frozenset[str]]


def check_seen(
    request: Request, source: SourceConfig, rows: Iterable[SchemaVersionRow]
) -> tuple[str, ...]:
    """One sentence for each table that no message has been of; it may be a new one.

    Args:
        request: What is asked for.
        source: The source.
        rows: All that is recorded of it, oldest first; none before its first run.

    Raises:
        SignalRefused: A column is not one of its table's.
    """
    seen: _Seen = {
        row.source_table.parts(source.connector): frozenset(
            str(column["name"]) for column in json.loads(row.columns)
        )
        for row in rows
    }
    for table in request.tables:
        known = seen.get(table.parts(source.connector))
        for column in _unknown(request, source, table, known) if known else ():
            raise SignalRefused(
                f"column {column!r}: expected one that {format_table(table, source.connector)} has "
                f"in the messages: {', '.join(sorted(known or ()))}; if it is new, land one of its "
                f"events first: `lakehouse run --source {source.name}`"
            )
    named = [table for table in request.tables if seen]
    return tuple(
        f"warning: table {format_table(table, source.connector)!r}: no message has come of it yet; "
        "the connector leaves it out if there is none of that name"
        for table in named
        if table.parts(source.connector) not in seen
    )


def _unknown(
    request: Request, source: SourceConfig, table: TableIdentity, known: frozenset[str]
) -> Iterator[str]:
    parts = table.parts(source.connector)
    named = [each.column for each in request.conditions if each.table in ((), parts)]
    if request.surrogate_key:
        named.append(request.surrogate_key)
    # A masked column may be left out of what is recorded.
    there = {name.lower() for name in (*known, *source.table_options(table).columns)}
    yield from (name for name in named if name.lower() not in there)
