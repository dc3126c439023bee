"""Statements that remove or replace rows of which the source sends no event.

In: the schema change events of a batch. Out: one sentence for each such statement; silver keeps
what it had until somebody compares it with the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lakehouse.names import format_table
from lakehouse.quality.schemas.ddl import SchemaEvent

# Of MySQL, MariaDB, Oracle and TiDB.
_REMOVES = re.compile(
    r"\b(?:(?:TRUNCATE|DROP|EXCHANGE|CONVERT)\s+(?:SUB)?PARTITION|DISCARD\s+TABLESPACE"
    r"|ALTER\s+IGNORE\s+TABLE|(?:RECOVER|FLASHBACK)\s+TABLE|DROP\s+(?:DATABASE|SCHEMA))\b",
    re.IGNORECASE,
)


def silent_statements(
    source: str, connector: str, events: Iterable[SchemaEvent]
) -> tuple[str, ...]:
    """One sentence for each statement that may have removed rows in silence.

    Args:
        source: The source's name.
        connector: Its connector.
        events: Those of a batch. Their text may quote masked values: its first words are shown.
    """
    found = []
    for event in events:
        words = None if event.message.is_snapshot else _REMOVES.search(event.ddl)
        if words is None:
            continue
        tables = sorted({format_table(change.identity, connector) for change in event.changes})
        at = f"{event.message.topic}[{event.message.partition}] offset {event.message.offset}"
        found.append(
            f"{at}: {' '.join(words[0].upper().split())} of {', '.join(tables) or 'no table'} may "
            "remove or replace rows of which no event comes: silver keeps what it had; compare "
            f"with `lakehouse reconcile --source {source} --repair`"
        )
    return tuple(found)
