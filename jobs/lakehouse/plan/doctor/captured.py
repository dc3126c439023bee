"""Which tables a connector captures, by the lists in its configuration.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html
("table.include.list"): regular expressions over whole names, separated by commas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PREFIXES = ("database", "schema", "table")


def captures(config: Mapping[str, str], schema: str, table: str) -> bool:
    """Whether a table is captured.

    Args:
        config: The connector's configuration.
        schema: Its schema, or its database where that is what the connector's names start with.
        table: Its name.
    """
    names = {"database": schema, "schema": schema, "table": f"{schema}.{table}"}
    for part in _PREFIXES:
        include = config.get(f"{part}.include.list")
        exclude = config.get(f"{part}.exclude.list")
        if include and not _matches(include, names[part]):
            return False
        if exclude and _matches(exclude, names[part]):
            return False
    return True


def _matches(patterns: str, name: str) -> bool:
    return any(
        re.fullmatch(pattern.strip().replace("\\,", ","), name, re.IGNORECASE)
        for pattern in re.split(r"(?<!\\),", patterns)
    )
