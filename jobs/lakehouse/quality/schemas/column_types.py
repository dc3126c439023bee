"""Types of columns as statements told them, for messages that carry no schema.

In: rows of `quality.schema_versions`, oldest first. Out: what the columns of each table are from
which position on (`design.md` §4, Values). Of a table whose beginning no statement told nothing is
said: its older rows would be read in another way than its newer ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from lakehouse.config.source_types import parse_source_type
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.schemas.incarnations import Parts, ToldTypes
from lakehouse.quality.schemas.column_lives import placed

_LATER_STATEMENT = re.compile(r"\s*(?!CREATE\b)\w", re.IGNORECASE)


def told_types(
    rows: Iterable[SchemaVersionRow], connector: str
) -> dict[Parts, tuple[ToldTypes, ...]]:
    """The parts of a table's name → the types of its columns, ascending by position.

    Args:
        rows: Of `quality.schema_versions`, oldest first.
        connector: Of the source.
    """
    found: dict[Parts, list[ToldTypes]] = {}
    of_table: dict[str, Mapping[str, str]] = {}
    for row in (row for row in placed(rows) if row.is_from_ddl):
        before = of_table.pop(row.previous or row.identity, None)
        if row.columns == "[]" or (before is None and _LATER_STATEMENT.match(row.ddl or "")):
            continue
        types, earlier = _types(row), before or {}
        # A column that comes back is compared with what it was.
        of_table[row.identity] = {**earlier, **types}
        is_turn = any(types[name] != earlier[name] for name in earlier.keys() & types)
        told = ToldTypes(row.position, types, is_turn)
        found.setdefault(row.source_table.parts(connector), []).append(told)
    return {parts: tuple(mine) for parts, mine in found.items()}


def _types(row: SchemaVersionRow) -> dict[str, str]:
    columns: list[Mapping[str, str]] = json.loads(row.columns)
    return {column["name"]: column["type"] for column in columns if _is_known(column["type"])}


@lru_cache(maxsize=10_000)
def _is_known(text: str) -> bool:
    try:
        parse_source_type(text)
    except ValueError:
        return False
    return True
