"""How large a table may be that messages describe: what is beyond holds it, and no other one.

A description comes from outside, and is walked through in Python and planned by Spark: both would
end at one of any size, with the whole run.
"""

from __future__ import annotations

from collections.abc import Mapping

# Databases end at some 4,000 columns, SQL Server's sparse ones aside; so does what Spark plans.
MAX_COLUMNS = 5_000
# An envelope is one, its row image two, a column three; PostgreSQL's arrays of arrays are four.
MAX_DEPTH = 32


def check_limits(schema: object) -> None:
    """Refuse a schema that is too deep or has too many columns.

    Args:
        schema: The `schema` member of a message's value, or any part of it.

    Raises:
        ValueError: It is beyond `MAX_COLUMNS` fields in one struct, or `MAX_DEPTH` schemas in
            each other.
    """
    waiting = [(schema, 1)]
    while waiting:
        found, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ValueError(
                f"more than {MAX_DEPTH} types inside each other: expected fewer; leave the column "
                "out in the connector (column.exclude.list)"
            )
        if isinstance(found, list):
            check_columns(len(found))
            waiting += ((each, depth) for each in found)
        elif isinstance(found, Mapping):
            nested = (value for value in found.values() if isinstance(value, Mapping | list))
            waiting += ((value, depth + 1) for value in nested)


def check_columns(count: int) -> None:
    """Refuse a table of too many columns.

    Raises:
        ValueError: It has more than `MAX_COLUMNS`.
    """
    if count > MAX_COLUMNS:
        raise ValueError(
            f"{count} columns: expected at most {MAX_COLUMNS}; leave some out in the connector "
            "(column.include.list), or the table (table.exclude.list)"
        )
