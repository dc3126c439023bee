"""Which tables a connector captures, by the lists in its configuration.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html
("table.include.list"): regular expressions over whole names, separated by commas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lakehouse.errors import ConfigError

_PREFIXES = ("database", "schema", "table")


def captures(config: Mapping[str, str], schema: str, table: str) -> bool:
    """Whether a table is captured.

    Args:
        config: The connector's configuration.
        schema: Its schema, or its database where that is what the connector's names start with.
        table: Its name.

    Raises:
        ConfigError: A list has what only Java reads, such as a class of Unicode.
    """
    names = {"database": schema, "schema": schema, "table": f"{schema}.{table}"}
    for part in _PREFIXES:
        include = config.get(f"{part}.include.list")
        exclude = config.get(f"{part}.exclude.list")
        if include and not _matches(f"{part}.include.list", include, names[part]):
            return False
        if exclude and _matches(f"{part}.exclude.list", exclude, names[part]):
            return False
    return True


def _matches(setting: str, patterns: str, name: str) -> bool:
    written = [each.strip().replace("\\,", ",") for each in re.split(r"(?<!\\),", patterns)]
    try:
        return any(re.fullmatch(pattern, name, re.IGNORECASE) for pattern in written)
    except re.error as unread:
        raise ConfigError(
            f"connector: {setting}: {unread.pattern!r} cannot be read here ({unread}): expected a "
            "regular expression that Java and Python read alike; name the tables, or use a class "
            "such as [a-z_]"
        ) from unread
