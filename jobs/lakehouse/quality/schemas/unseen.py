"""Tables that the TOML file names and no message has ever been of: a slip, or one to come.

In: the file, and what is recorded. Out: sentences.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from lakehouse.config import SourceConfig
from lakehouse.names import format_table, parse_table
from lakehouse.plan.records import SchemaVersionRow


def unseen_tables(source: SourceConfig, rows: Iterable[SchemaVersionRow]) -> tuple[str, ...]:
    """One sentence for each table that is named and was never seen; none before the first one was.

    Args:
        source: The file.
        rows: All that is recorded.
    """
    tables = {row.source_table for row in rows}
    seen = {table.parts(source.connector) for table in tables}
    known = sorted({format_table(table, source.connector) for table in tables})
    found = []
    for text in sorted(source.tables) if seen else ():
        if parse_table(text, source.connector).parts(source.connector) not in seen:
            near = difflib.get_close_matches(text, known, n=1, cutoff=0.8)
            hint = f": did you mean {near[0]!r}?" if near else ""
            found.append(f"the TOML file names {text!r}, of which no message has come yet{hint}")
    return tuple(found)
